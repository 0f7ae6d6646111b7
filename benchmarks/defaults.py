"""Why the default strength and target are what they are: test log loss over a grid of them.

One setting must serve tables of all kinds, so the figure is the geometric mean over data sets of
the log loss divided by the best of its row (0.01 nats added to both, since some are near 0).

    python benchmarks/defaults.py
"""

import warnings

import numpy as np
from common import split
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier, LRClassifier
from deepbroad.measures import measure

DATA = (
    "adult", "car", "nursery", "tic-tac-toe", "german", "mushroom", "vowel", "splice", "led",
    "cmc", "letter", "abalone", "segment", "pendigits", "magic", "connect-4",
)  # fmt: skip
ALPHAS = (0.01, 0.1, 1.0, 10.0)
SETTINGS = {
    **{
        f"DBL {alpha:g} to {target}": DBLClassifier(n=2, alpha=alpha, shrink_to=target)
        for target in ("zero", "generative")
        for alpha in ALPHAS
    },
    **{f"LR {alpha:g}": LRClassifier(n=2, alpha=alpha) for alpha in ALPHAS},
}


def main() -> None:
    """Print the log loss of every setting on every data set, then the summary."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    losses = np.empty((len(DATA), len(SETTINGS)))
    for i, name in enumerate(DATA):
        data = split(name)
        for j, model in enumerate(SETTINGS.values()):
            model.fit(data.X_train, data.y_train)
            found = measure(data.y_test, model.predict_proba(data.X_test), classes=model.classes_)
            losses[i, j] = found.log_loss
        print(f"{name:12}", " ".join(f"{loss:7.4f}" for loss in losses[i]), flush=True)
    ratios = (losses + 0.01) / (losses.min(axis=1, keepdims=True) + 0.01)
    print("\ngeometric mean of the ratio to the best of each row")
    for label, mean in zip(SETTINGS, np.exp(np.log(ratios).mean(axis=0)), strict=True):
        print(f"{label:22} {mean:.3f}")


if __name__ == "__main__":
    main()
