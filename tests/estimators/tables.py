"""Small tables as people have them, for the tests of estimators."""

import numpy as np
import pandas as pd

from deepbroad import (
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)

MODELS = {
    "AnJE": AnJEClassifier(n=2),
    "DBL": DBLClassifier(n=2, alpha=1.0),
    "DBL to AnJE": DBLClassifier(n=2, alpha=1.0, shrink_to="generative"),
    "LR": LRClassifier(n=2),
}
# Their tuples are learned: they have no n.
STRUCTURED = {
    "KDB": KDBClassifier(k=2),
    "TAN": TANClassifier(),
    "ELR": TANClassifier(fitting="discriminative"),
    "ELR to KDB": KDBClassifier(k=1, fitting="discriminative", shrink_to="generative"),
}


def mixed_table(rows=200, seed=0, n_classes=3):
    """Return a data frame of strings, categories, booleans and numbers, and labels."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["blue", "green", "red"], rows)
    shape = rng.choice(["round", "square"], rows)
    heavy = rng.random(rows) < 0.4
    length = rng.normal(size=rows) + heavy
    noisy = rng.random(rows) < 0.15
    y = (np.unique(colour, return_inverse=True)[1] + (shape == "round")) % 3
    y = np.where(length > 0.8, 1, y)
    y = np.where(noisy, rng.integers(3, size=rows), y) % n_classes
    X = pd.DataFrame(
        {"colour": colour, "shape": pd.Categorical(shape), "heavy": heavy, "length": length}
    )
    return X, np.array(["ant", "bee", "cow"])[y]


def categorical_table(rows=80, seed=0, n_classes=3, a=4):
    """Return a data frame of strings and integer labels that depend on pairs of columns."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=(rows, a))
    y = (codes[:, 0] * codes[:, 1] + codes[:, 2] + (rng.random(rows) < 0.3)) % n_classes
    y[:n_classes] = np.arange(n_classes)
    X = pd.DataFrame({f"c{i}": np.array(["p", "q", "r"])[codes[:, i]] for i in range(a)})
    return X, y


def small_table(rows=60, seed=0):
    """Return a data frame of a number and a category, which tell the class together alone."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=rows), "kind": rng.choice(["a", "b", "c"], rows)})
    return X, ((X["size"] > 0) ^ (X["kind"] == "a")).to_numpy().astype(int)
