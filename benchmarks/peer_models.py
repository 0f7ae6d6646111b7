"""The peers with their default arguments, each fitted to categories as it takes them natively.

Making their data frames is not timed; encoding inside our own fits is. A category that training
never had is missing to those peers that would refuse it.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import Split
from numpy.typing import NDArray


class Fitted(NamedTuple):
    """What a model says of the test part, and what its fit and prediction took."""

    classes: NDArray[Any]
    probabilities: NDArray[Any]
    seconds: float
    note: str = ""


def timed(model: Any, train: Any, y: NDArray[Any], test: Any) -> tuple[NDArray[Any], float]:
    """Fit a model; return its probabilities of the test part and the seconds of the fit."""
    start = perf_counter()
    model.fit(train, y)
    seconds = perf_counter() - start
    return model.predict_proba(test), seconds


def fit_lightgbm(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit LightGBM to categories of pandas; it maps those of the test part to its own."""
    from lightgbm import LGBMClassifier

    trees = {} if max_iter is None else {"n_estimators": max_iter}
    model = LGBMClassifier(n_jobs=threads, verbosity=-1, **trees)
    found, seconds = timed(model, *category_frames(data))
    return Fitted(model.classes_, found, seconds, f"{model.n_iter_} trees")


def fit_xgboost(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit XGBoost to categories of pandas; it wants classes as numbers."""
    from xgboost import XGBClassifier

    trees = {} if max_iter is None else {"n_estimators": max_iter}
    model = XGBClassifier(n_jobs=threads, enable_categorical=True, **trees)
    classes, codes = np.unique(data.y_train, return_inverse=True)
    train, _, test = category_frames(data)
    found, seconds = timed(model, train, codes, test)
    return Fitted(classes, found, seconds)


def fit_catboost(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit CatBoost; it takes categories as strings, and a missing one must be a string as well."""
    from catboost import CatBoostClassifier

    names = categorical_names(data.X_train)
    trees = {} if max_iter is None else {"iterations": max_iter}
    model = CatBoostClassifier(
        cat_features=names,
        thread_count=threads,
        logging_level="Silent",
        allow_writing_files=False,
        **trees,
    )
    train, test = (
        X.to_pandas().fillna(dict.fromkeys(names, "missing")) for X in (data.X_train, data.X_test)
    )
    found, seconds = timed(model, train, data.y_train, test)
    return Fitted(model.classes_, found, seconds, f"{model.tree_count_} trees")


def fit_ebm(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit InterpretML's explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    rounds = {} if max_iter is None else {"max_rounds": max_iter}
    model = ExplainableBoostingClassifier(n_jobs=threads, **rounds)
    found, seconds = timed(model, *category_frames(data))
    return Fitted(model.classes_, found, seconds)


PEERS: dict[str, Callable[..., Fitted]] = {
    "lightgbm": fit_lightgbm,
    "xgboost": fit_xgboost,
    "catboost": fit_catboost,
    "ebm": fit_ebm,
}


def category_frames(data: Split) -> tuple[Any, NDArray[Any], Any]:
    """Return training frame, classes and test frame, text as categories of the training part."""
    import pandas as pd

    train, test = (as_categories(X).to_pandas() for X in (data.X_train, data.X_test))
    for name in categorical_names(data.X_train):
        # Of plain objects: the string types of Arrow are not known to every peer.
        values = pd.Index(train[name].cat.categories.astype(object))
        train[name] = pd.Categorical(train[name].astype(object), values)
        test[name] = pd.Categorical(test[name].astype(object), values)
    # Some peers refuse names that hold brackets and the like.
    for frame in (train, test):
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    return train, data.y_train, test


def categorical_names(X: pa.Table) -> list[str]:
    """Return the names of the columns of text and categories."""
    kinds = (pa.types.is_string, pa.types.is_dictionary)
    return [field.name for field in X.schema if any(is_kind(field.type) for is_kind in kinds)]


def as_categories(X: pa.Table) -> pa.Table:
    """Return the table with its text as dictionaries, which pandas reads as categories."""
    for name in categorical_names(X):
        place = X.column_names.index(name)
        if not pa.types.is_dictionary(X[name].type):
            X = X.set_column(place, name, pc.dictionary_encode(X[name]))
    return X
