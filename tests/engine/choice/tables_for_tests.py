"""Small coded tables with a known rule, for the tests of the choice."""

import numpy as np

from deepbroad.data.source import ArraySource


def make_source(codes, labels, weights=None, n_classes=2):
    codes = np.asarray(codes, np.uint8)
    return ArraySource(
        codes, np.asarray(labels), n_classes, codes.max(axis=1).astype(np.int64) + 1, weights
    )


def parity(rows, features=6, members=2, flip=0.1, seed=0):
    """Two values each; the class is the parity of the first members, flipped at times."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (features, rows))
    labels = codes[:members].sum(axis=0) % 2 ^ (rng.random(rows) < flip)
    return make_source(codes, labels)


def noise(rows, features=6, values=3, seed=0):
    rng = np.random.default_rng(seed)
    return make_source(rng.integers(0, values, (features, rows)), rng.integers(0, 2, rows))
