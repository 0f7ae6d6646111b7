"""scikit-learn classes: they validate, call the engine and hold state; no mathematics here."""

from deepbroad.estimators.ande import AnDEClassifier
from deepbroad.estimators.anje import AnJEClassifier
from deepbroad.estimators.dbl import DBLClassifier
from deepbroad.estimators.discretizer import MDLDiscretizer
from deepbroad.estimators.kdb import KDBClassifier
from deepbroad.estimators.lr import LRClassifier
from deepbroad.estimators.tan import TANClassifier

__all__ = [
    "AnDEClassifier",
    "AnJEClassifier",
    "DBLClassifier",
    "KDBClassifier",
    "LRClassifier",
    "MDLDiscretizer",
    "TANClassifier",
]
