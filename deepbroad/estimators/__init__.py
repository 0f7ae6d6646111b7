"""scikit-learn classes: they validate, call the engine and hold state; no mathematics here."""

from deepbroad.estimators.anje import AnJEClassifier
from deepbroad.estimators.dbl import DBLClassifier
from deepbroad.estimators.discretizer import MDLDiscretizer
from deepbroad.estimators.lr import LRClassifier

__all__ = ["AnJEClassifier", "DBLClassifier", "LRClassifier", "MDLDiscretizer"]
