"""The peers with default arguments and with tuned defaults, fitted to categories as they take them.

Making their data frames is not timed; encoding inside our own fits is. A category that training
never had is missing to those peers that would refuse it.

The tuned defaults of LightGBM and XGBoost are those of pytabkit 1.7 (Holzmüller, Grinsztajn and
Steinwart 2024, "Better by default"). A fifth of the training rows is held out; boosting stops when
their cross-entropy has not fallen for 300 rounds, and the best round predicts. No model is fitted
again to all rows. Splitting the rows is timed.
"""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import Split
from numpy.typing import NDArray

PATIENCE = 300
HELD_OUT = 5  # one row of so many
TUNED_LIGHTGBM = {
    "n_estimators": 1000,
    "learning_rate": 0.04,
    "subsample": 0.75,
    "subsample_freq": 1,
    "num_leaves": 50,
    "min_child_samples": 40,
    "min_child_weight": 1e-7,  # min_sum_hessian_in_leaf
    "max_bin": 255,
}
TUNED_XGBOOST = {
    "n_estimators": 1000,
    "learning_rate": 0.08,
    "max_depth": 6,
    "min_child_weight": 5e-6,
    "reg_lambda": 0.0,
    "colsample_bylevel": 0.9,
    "subsample": 0.65,
    "tree_method": "hist",
    "max_bin": 256,
}


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


def fit_tuned_lightgbm(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit LightGBM with tuned defaults and early stopping."""
    from lightgbm import LGBMClassifier, early_stopping

    trees = {} if max_iter is None else {"n_estimators": max_iter}
    arguments = TUNED_LIGHTGBM | trees
    model = LGBMClassifier(n_jobs=threads, verbosity=-1, random_state=0, **arguments)
    train, _, test = category_frames(data)
    classes, codes = np.unique(data.y_train, return_inverse=True)
    metric = "binary_logloss" if classes.size == 2 else "multi_logloss"
    # Releases from 4.7 on warn of `eval_set`; those before know nothing else.
    warnings.simplefilter("ignore", FutureWarning)
    start = perf_counter()
    kept, held = hold_out(codes)
    model.fit(
        train.iloc[kept],
        codes[kept],
        eval_set=[(train.iloc[held], codes[held])],
        eval_metric=metric,
        callbacks=[early_stopping(PATIENCE, verbose=False)],
    )
    seconds = perf_counter() - start
    note = f"{model.best_iteration_} trees"
    return Fitted(classes, model.predict_proba(test), seconds, note)


def fit_tuned_xgboost(data: Split, threads: int, max_iter: int | None = None) -> Fitted:
    """Fit XGBoost with tuned defaults and early stopping."""
    from xgboost import XGBClassifier

    classes, codes = np.unique(data.y_train, return_inverse=True)
    trees = {} if max_iter is None else {"n_estimators": max_iter}
    model = XGBClassifier(
        n_jobs=threads,
        enable_categorical=True,
        random_state=0,
        early_stopping_rounds=PATIENCE,
        eval_metric="logloss" if classes.size == 2 else "mlogloss",
        **(TUNED_XGBOOST | trees),
    )
    train, _, test = category_frames(data)
    start = perf_counter()
    kept, held = hold_out(codes)
    model.fit(
        train.iloc[kept],
        codes[kept],
        eval_set=[(train.iloc[held], codes[held])],
        verbose=False,
    )
    seconds = perf_counter() - start
    note = f"{model.best_iteration + 1} trees"
    return Fitted(classes, model.predict_proba(test), seconds, note)


def hold_out(y: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that boosting learns from and the fifth that stops it (seed 0).

    Classes are spread evenly. A class of which all rows would be held out stays in training, as
    the peers must know every class.
    """
    order = np.random.default_rng(0).permutation(y.size)
    order = order[np.argsort(y[order], kind="stable")]
    is_held = np.zeros(y.size, bool)
    is_held[order[HELD_OUT - 1 :: HELD_OUT]] = True
    is_held &= np.isin(y, y[~is_held])
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


PEERS: dict[str, Callable[..., Fitted]] = {
    "lightgbm": fit_lightgbm,
    "lightgbm-tuned": fit_tuned_lightgbm,
    "xgboost": fit_xgboost,
    "xgboost-tuned": fit_tuned_xgboost,
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
        if values.empty:
            # XGBoost refuses a category without values.
            train[name] = test[name] = np.nan
            continue
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
