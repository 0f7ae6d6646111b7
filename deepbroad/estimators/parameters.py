"""Checks of constructor parameters, with errors that say what to write instead."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.model.terms import Terms


def check_depth(n: Any, n_features: int) -> int:
    """Return n as an int from 1 to the number of attributes."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        raise ValueError(f"n must be an integer, the number of attributes in a tuple; got {n!r}.")
    n = int(n)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    if n > n_features:
        raise ValueError(
            f"n={n} joins more attributes than X has ({n_features}); use n <= {n_features}."
        )
    return n


def check_number(name: str, value: Any, *, above: float, included: bool) -> float:
    """Return a finite real number above a bound."""
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_real or not np.isfinite(value) or value < above or (value == above and not included):
        bound = "at least" if included else "more than"
        raise ValueError(f"{name} must be a number {bound} {above:g}, got {value!r}.")
    return float(value)


def check_count(name: str, value: Any, *, least: int) -> int:
    """Return an int of at least some size."""
    is_int = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_int or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {listed}, got {value!r}.")
    return value


def resolve_terms(terms: Any, n: int, encoding: Encoding) -> Terms:
    """Return all tuples of n code columns, or those that `terms` names."""
    if terms is None:
        return Terms.of_order(n, encoding.cardinalities)
    places = {name: i for i, name in enumerate(encoding.names)}
    tuples = []
    for term in terms:
        members = (term,) if isinstance(term, str | numbers.Integral) else tuple(term)
        columns = tuple(_find_column(member, places) for member in members)
        if len(columns) != n or len(set(columns)) != n:
            raise ValueError(
                f"Each of `terms` must name {n} different attributes since n={n}, got {term!r}."
            )
        tuples.append(columns)
    if not tuples:
        raise ValueError("`terms` is empty; give at least one tuple, or None for all of them.")
    return Terms.of(tuples, encoding.cardinalities)


def _find_column(member: Any, places: dict[str, int]) -> int:
    """Return the position of an attribute given by name or index."""
    if isinstance(member, str) and member in places:
        return places[member]
    is_index = isinstance(member, numbers.Integral) and not isinstance(member, bool)
    if is_index and 0 <= member < len(places):
        return int(member)
    raise ValueError(f"`terms` names {member!r}, which X has not; it has {list(places)[:20]}.")


def weigh_classes(
    class_weight: Any, labels: Labels, codes: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None:
    """Return sample weights times class weights, None if all are 1."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, dict):
        keys = labels.encode(list(class_weight))
        by_class = np.ones(labels.n_classes)
        by_class[keys] = [
            check_number(f"class_weight[{label!r}]", value, above=0.0, included=True)
            for label, value in class_weight.items()
        ]
    else:
        check_choice("class_weight", class_weight, ["balanced"])
        counted = slice(None) if weights is None else weights > 0
        by_class = compute_class_weight(
            "balanced", classes=np.arange(labels.n_classes), y=codes[counted]
        )
    factors = by_class[codes]
    return factors if weights is None else weights * factors
