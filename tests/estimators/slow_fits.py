"""Fits of a small table in processes of their own, to be killed.

To import this fits the models once, so that processes which are forked after that have all kernels
loaded, and are quick to begin.
"""

from time import sleep
from unittest.mock import patch

import numpy as np

from deepbroad import DBLClassifier
from deepbroad.engine import dual, journal

RNG = np.random.default_rng(5)
X = RNG.integers(0, 3, (240, 4)).astype(str)
Y = np.where((X[:, 0] == X[:, 1]) & (RNG.random(240) < 0.9), "same", RNG.choice(["b", "c"], 240))
MODELS = {
    "dbl": lambda **more: DBLClassifier(2, alpha=0.01, tol=1e-7, **more),
    "automatic": lambda **more: DBLClassifier(tol=1e-7, **more),
    "hinge": lambda **more: DBLClassifier(2, alpha=0.1, loss="squared_hinge", **more),
}
# Without threads: a process that has some is not to be forked. The fit of few rows would begin
# where it ends: there would be nothing to go on with.
with patch.object(dual, "FEW_ROWS", 0):
    WHOLE = {name: make(n_jobs=1).fit(X, Y) for name, make in MODELS.items()}


def fit_slowly(name, folder, sender):
    """Fit; send the iterations, and at last the model's figures."""

    def tell(progress):
        sender.send(progress.iteration)
        sleep(0.004)

    # So that a fit this short is saved every few iterations.
    journal.LEAST_SECONDS, journal.SHARE = 0.0, 0.5
    dual.FEW_ROWS = 0
    model = MODELS[name](checkpoint=folder, callbacks=[tell], n_jobs=1).fit(X, Y)
    sender.send((model.loss_, model.n_iter_, model.status_, model.predict_proba(X)))
