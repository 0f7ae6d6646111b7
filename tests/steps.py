"""Tables whose class steps in the tails of numbers, or follows them smoothly, and their codes."""

import numpy as np
import pandas as pd

from deepbroad.data.encoding import Encoding
from deepbroad.data.table import read_table
from deepbroad.model.resolutions import choose_levels

# About 3 % of the rows of a normal distribution are above.
STEP = 1.88
# Of the labels, those that are turned round.
NOISE = 0.01


def step_table(rows, seed=0, *, missing=0.0):
    """Return a data frame whose class steps in the tails of two numbers, and noisy labels.

    A share of the sizes below the step may be missing.
    """
    rng = np.random.default_rng(seed)
    size, other = rng.normal(size=(2, rows))
    size[(size < STEP) & (rng.random(rows) < missing)] = np.nan
    kind = rng.choice(["a", "b", "c"], rows)
    X = pd.DataFrame({"kind": kind, "size": size, "other": other})
    return X, true_class(X) ^ (rng.random(rows) < NOISE)


def true_class(X):
    """Return the class of each row of such a table, without noise."""
    return ((X["size"] > STEP) | (X["other"] > STEP)).to_numpy().astype(int)


def smooth_table(rows, seed=0):
    """Return a data frame of numbers that the log odds of the class are a sum of, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    labels = X @ [2.0, -1.0, 0.5] + rng.logistic(size=rows) > 0
    return pd.DataFrame(X, columns=["size", "other", "weight"]), labels.astype(int)


def encode(X, labels, weights=None, levels=None):
    """Return the encoding of a table at as many levels as its rows bear, and its rows."""
    table = read_table(X)
    labels = np.asarray(labels)
    n_classes = int(labels.max()) + 1
    rows = table.n_rows if weights is None else int(np.count_nonzero(weights))
    levels = choose_levels(rows, 1)[0] if levels is None else levels
    encoding, codes = Encoding.fit(table, labels, n_classes, weights, levels=levels)
    return encoding, encoding.as_source(codes, labels, weights, n_classes)
