"""Data whose depth is known, and automatic choices of models for them."""

import numpy as np

from deepbroad.data.source import ArraySource
from deepbroad.engine.automatic import Automatic
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family

FAMILY = Family(generative=True, strength=0.0, by_score=True, backs_off=True)


def source_of(codes, labels, weights=None):
    codes = np.asarray(codes, np.uint8)
    cardinalities = codes.max(axis=1).astype(int) + 1
    return ArraySource(codes, labels, int(labels.max()) + 1, cardinalities, weights)


def noisy(labels, rng, share=0.1):
    """Return binary labels of which some are turned round."""
    return labels ^ (rng.random(len(labels)) < share)


def main_effects(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=(3, rows))
    scores = sum(rng.normal(size=3)[column] * 1.5 for column in codes)
    return source_of(codes, (scores + rng.logistic(size=rows) > 0).astype(int))


def exclusive_or(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(4, rows))
    return source_of(codes, noisy(codes[0] ^ codes[1], rng).astype(int))


def parity(rows=400, seed=2):
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(3, rows))
    return source_of(codes, noisy(codes[0] ^ codes[1] ^ codes[2], rng).astype(int))


def choose(source, *, family=FAMILY, n_threads=1, **options):
    settings = {
        "depths": (1, 2, 3),
        "smoothing": 1.0,
        "min_count": 1,
        "memory_limit": 1e9,
        "time_limit": 1e6,
        "history": 10,
        "seed": 0,
    }
    with Threads(n_threads) as threads:
        return Automatic(source, family, threads=threads, **{**settings, **options}).choose()


def tuples_of(choice):
    terms = choice.levelled.terms
    return {terms.tuple(t) for t in range(len(terms))}
