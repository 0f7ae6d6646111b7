"""What a fitted model says, told apart into effects; and what it says of single rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import softmax

from deepbroad.estimators.effect_table import EffectTables, find_class, to_classes
from deepbroad.estimators.read_only import read_only
from deepbroad.model.purification import Attributes, Purification


class Explanation:
    r"""A fitted model as an intercept and effects of one attribute, of pairs, of triples, ...

    .. math:: \log\text{odds}(x) = f_0 + \sum_i f_i(x_i) + \sum_{i<j} f_{ij}(x_i, x_j) + \dots

    exactly, for every row. Each effect is only what its attributes do together: its mean over any
    of them is 0 (functional ANOVA), under a distribution in which attributes are independent, each
    spread as in training unless told otherwise. The log odds of a class are those of
    `decision_function`: against the other class if there are two, else its score less the mean of
    all classes' scores.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        The classes.
    intercept : ndarray of shape (C,)
        :math:`f_0`, the mean log odds of each class.
    effects : list of tuples of str
        The attributes of each effect, the most important first.
    importances : pyarrow.Table
        A row per effect, the most important first: ``effect`` (names joined by " & "),
        ``attributes``, ``order``, ``importance`` (the standard deviation of the effect, in log
        odds, as the root of its variance's mean over classes), ``share`` (of the variance of log
        odds; shares sum to 1), and for three classes or more the deviation for each class.
        ``.to_pandas()`` makes a data frame of it.
    tables : mapping
        The effects by names, for instance ``tables["age", "job"].scores``.
    distribution : str
        "training", "uniform" or "background".

    References
    ----------
    Lengerich, Tan, Chang, Hooker, Caruana (2020). Purifying Interaction Effects with the Functional
    ANOVA: An Efficient Algorithm for Recovering Identifiable Additive Models. AISTATS.

    Examples
    --------
    >>> from deepbroad import LRClassifier
    >>> X = [["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"]] * 10
    >>> y = ["same", "other", "other", "same"] * 10  # only the pair tells
    >>> explanation = LRClassifier(n=2).fit(X, y).explain()
    >>> explanation.effects[0]
    ('x0', 'x1')
    >>> explanation.tables["x0", "x1"].of_class("same").round(1)
    array([[ 2.1, -2.1],
           [-2.1,  2.1]])
    """

    def __init__(
        self,
        purified: Purification,
        classes: np.ndarray,
        distribution: str,
        explain_rows: Callable[["Explanation", Any], "RowExplanations"],
    ) -> None:
        self._purified, self._explain_rows = purified, explain_rows
        self.classes, self.distribution = read_only(classes), distribution

    @cached_property
    def intercept(self) -> np.ndarray:
        """The mean log odds of each class, (C,)."""
        return read_only(to_classes(self._purified.intercept, len(self.classes)))

    @cached_property
    def _variances(self) -> dict[Attributes, np.ndarray]:
        """The variance (K,) of each effect, the most important first."""
        found = {effect.attributes: effect.variance for effect in self._purified.effects()}
        return dict(sorted(found.items(), key=lambda item: -float(item[1].mean())))

    @cached_property
    def effects(self) -> list[tuple[str, ...]]:
        """The attributes of each effect, the most important first."""
        return list(self.tables)

    @cached_property
    def tables(self) -> EffectTables:
        """The effects by the names of their attributes."""
        importances = {key: float(np.sqrt(v.mean())) for key, v in self._variances.items()}
        return EffectTables(self._purified, self.classes, importances)

    @cached_property
    def importances(self) -> pa.Table:
        """A row per effect, the most important first."""
        variances = np.array(list(self._variances.values()))
        mean = variances.mean(axis=1)
        columns: dict[str, Any] = {
            "effect": [name_effect(names) for names in self.effects],
            "attributes": pa.array(map(list, self.effects), pa.list_(pa.string())),
            "order": [len(names) for names in self.effects],
            "importance": np.sqrt(mean),
            "share": mean / mean.sum() if mean.any() else mean,
        }
        if len(self.classes) > 2:
            for place, label in enumerate(self.classes):
                columns[f"importance for {label}"] = np.sqrt(variances[:, place])
        return pa.table(columns)

    def rows(self, X: Any) -> "RowExplanations":
        """Return each row's contributions, as ``model.explain(X)`` does, for this distribution."""
        return self._explain_rows(self, X)

    def contributions(self, codes: np.ndarray, rescaling: np.ndarray) -> np.ndarray:
        """Return contributions (n_rows, 1 + n_effects, C) of rows of codes, the intercept first."""
        base = self._purified.class_log_odds
        found = np.empty((codes.shape[1], 1 + len(self._variances), self._purified.n_outputs))
        # Class scores are not rescaled, so that the intercept of such rows is their own.
        found[:, 0] = base + rescaling[:, None] * (self._purified.intercept - base)
        for place, attributes in enumerate(self._variances, start=1):
            found[:, place] = self._purified.effect(attributes).at(codes) * rescaling[:, None]
        return read_only(to_classes(found, len(self.classes)))

    def plot(self, *attributes: str, **options: Any) -> Any:
        """Draw the importances or, given names of attributes, their effect.

        Needs ``pip install "deepbroad[report]"``; see `deepbroad.report` for the options.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        if attributes:
            return drawing().plot_effect(self, *attributes, **options)
        return drawing().plot_importances(self, **options)

    def __repr__(self) -> str:
        orders = np.bincount([len(key) for key in self._purified.columns])
        counts = ", ".join(f"{n} of order {k}" for k, n in enumerate(orders) if n)
        return f"Explanation({counts}; {len(self.classes)} classes)"


@dataclass(frozen=True, eq=False)
class RowExplanations:
    """What each effect adds to the log odds of rows; arrays are read-only.

    Attributes
    ----------
    classes : ndarray of shape (C,)
        The classes.
    effects : list of tuples of str
        The attributes of each effect; the first, of none, is the intercept.
    contributions : ndarray of shape (n_rows, n_effects, C)
        They sum to `log_odds` over effects.
    values : list of lists of str
        For each row the names of its values, attribute by attribute.
    names : list of str
        The attributes.
    """

    classes: np.ndarray
    effects: list[tuple[str, ...]]
    contributions: np.ndarray
    values: list[list[str]]
    names: list[str]

    @property
    def log_odds(self) -> np.ndarray:
        """The log odds of each class, (n_rows, C), those of `decision_function`."""
        return read_only(self.contributions.sum(axis=1))

    @property
    def probabilities(self) -> np.ndarray:
        """The probability of each class, (n_rows, C), those of `predict_proba`."""
        log_odds = self.log_odds
        # Of two classes each has its log odds against the other: half of it is its score.
        scores = log_odds / 2 if len(self.classes) == 2 else log_odds
        return read_only(softmax(scores, axis=1))

    def __len__(self) -> int:
        return len(self.contributions)

    def of_class(self, label: Any) -> np.ndarray:
        """Return the contributions to the log odds of one class, (n_rows, n_effects)."""
        found: np.ndarray = self.contributions[..., find_class(self.classes, label)]
        return found

    def best_class(self, row: int) -> Any:
        """Return the class of largest log odds of a row."""
        return self.classes[int(self.log_odds[row].argmax())]

    def name_values(self, row: int, effect: int) -> str:
        """Return an effect of a row in words, such as "age < 20 & job = clerk"."""
        own = dict(zip(self.names, self.values[row], strict=True))
        said = (f"{name} {say_value(own[name])}" for name in self.effects[effect])
        return " & ".join(said) or "intercept"

    def to_arrow(self, row: int = 0) -> pa.Table:
        """Return a row's effects, the largest first: names, values, and log odds by class."""
        order = np.argsort(-np.abs(self.contributions[row]).max(axis=1), kind="stable")
        columns: dict[str, Any] = {
            "effect": [name_effect(self.effects[i]) for i in order],
            "values": [self.name_values(row, i) for i in order],
        }
        for place, label in enumerate(self.classes):
            columns[f"log odds of {label}"] = self.contributions[row, order, place]
        return pa.table(columns)

    def plot(self, row: int = 0, **options: Any) -> Any:
        """Draw how a row's effects add up to its log odds; see `deepbroad.report.plot_row`.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        return drawing().plot_row(self, row, **options)

    def __repr__(self) -> str:
        rows, effects, classes = self.contributions.shape
        return f"RowExplanations({rows} rows, {effects} effects, {classes} classes)"


def name_effect(attributes: tuple[str, ...]) -> str:
    """Return the name of an effect in a list of effects."""
    return " & ".join(attributes) or "intercept"


def say_value(name: str) -> str:
    """Return the name of a value or bin as what follows the name of its attribute."""
    if name.startswith(("< ", ">= ")):
        return name
    return f"in {name}" if name.startswith("[") and name.endswith(")") else f"= {name}"


def drawing() -> Any:
    """Return the module that draws.

    It lies above this one and is found by its name when a plot is asked for, as pandas finds its
    plotting back ends: nothing here depends on it.
    """
    return import_module("deepbroad.report")
