"""Small data sets, and methods that fail in every way, for tests of trials.

Everything stands at the top of the module, since processes import it by name.
"""

import os
import signal
import time

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin

from deepbroad.experiments.dataset import Dataset, Shape
from deepbroad.experiments.methods import Method
from deepbroad.experiments.protocol import Protocol
from deepbroad.experiments.runner import find_subjects, list_trials

ROWS = 40


def make_table():
    """Two classes that a text mostly tells, and a number that tells nothing."""
    random = np.random.default_rng(0)
    y = random.permutation(np.repeat(["no", "yes"], ROWS // 2))
    text = np.where(random.random(ROWS) < 0.8, y, "perhaps")
    return pa.table({"text": text, "number": random.normal(size=ROWS)}), y


def make_dataset(**changes):
    about = {
        "name": "small",
        "paper_name": "Small",
        "rows": ROWS,
        "attributes": 3,
        "classes": 2,
        "shape": Shape(ROWS, 2, 2),
        "make": make_table,
    }
    return Dataset(**about | changes)


class Prior(ClassifierMixin, BaseEstimator):
    """Says how frequent each class was."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.prior_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.prior_, (len(X), 1))


class Sleeper(Prior):
    def predict_proba(self, X):
        time.sleep(0 if self.is_first else 60)
        return super().predict_proba(X)

    def __init__(self, is_first=False):
        self.is_first = is_first


class Failure(Prior):
    def fit(self, X, y):
        raise ValueError("no reason")


class Glutton(Prior):
    def fit(self, X, y):
        raise MemoryError("needs 1 TB")


class Victim(Prior):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


class Crash(Prior):
    def fit(self, X, y):
        os._exit(3)


def awake():
    return Sleeper(is_first=True)


METHODS = {
    "prior": Method("prior", Prior),
    "sleeper": Method("sleeper", Sleeper, first=awake),
    "failure": Method("failure", Failure),
    "glutton": Method("glutton", Glutton),
    "victim": Method("victim", Victim),
    "crash": Method("crash", Crash),
}


def make_trials(*methods, rounds=1):
    subjects, _ = find_subjects([make_dataset()], None)
    protocol = Protocol(rounds=rounds)
    return list_trials(subjects, [METHODS[name] for name in methods], protocol)
