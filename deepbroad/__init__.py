"""Deep broad learning: exact, fast, explainable classification of tables."""

from importlib import import_module
from typing import Any

from deepbroad.estimators import (
    AnDEClassifier,
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    MDLDiscretizer,
    TANClassifier,
)
from deepbroad.export import export
from deepbroad.model.recipe import Recipe
from deepbroad.persist import ModelFileError, load, save
from deepbroad.solvers import Progress

__version__ = "0.1.0.dev0"

__all__ = [
    "AnDEClassifier",
    "AnJEClassifier",
    "DBLClassifier",
    "KDBClassifier",
    "LRClassifier",
    "MDLDiscretizer",
    "ModelFileError",
    "Progress",
    "Recipe",
    "TANClassifier",
    "export",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import `deepbroad.report` when it is first asked for."""
    if name == "report":
        return import_module("deepbroad.report")
    raise AttributeError(f"module 'deepbroad' has no attribute {name!r}")
