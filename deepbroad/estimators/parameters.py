"""Checks of constructor parameters, with errors that say what to write instead."""

import numbers
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.names import list_names, suggest
from deepbroad.model.terms import Terms


def check_depth(n: Any, n_features: int, *, least: int = 1) -> int:
    """Return n as an int from `least` to the number of attributes."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        raise ValueError(f"n must be an integer, the number of attributes in a tuple; got {n!r}.")
    n = int(n)
    if n < least:
        raise ValueError(f"n must be at least {least}, got {n}.")
    if n > n_features:
        raise ValueError(
            f"n={n} joins more attributes than X has (n_features={n_features}); "
            f"use n <= {n_features}."
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


def check_strengths(alpha: Any, n: Any, *, all_orders: bool) -> None:
    """Raise ValueError unless `alpha` is "auto", or has a strength for each of n orders."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(
                f"alpha must be a number at least 0, got {alpha!r}; or one for each order, or "
                '"auto".'
            )
        return
    for strength in alpha:
        check_number("each alpha", strength, above=0.0, included=True)
    # A depth that is none is told of by itself.
    is_depth = isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1
    if not all_orders or (is_depth and len(alpha) != n):
        raise ValueError(
            f"alpha has {len(alpha)} strengths; give one for each order from 1 to n={n} with "
            'orders="all", or a single number.'
        )


def check_flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_verbosity(verbose: Any) -> int:
    """Return how much to log, 0 for nothing."""
    if not isinstance(verbose, numbers.Integral | np.bool_) or verbose < 0:
        raise ValueError(f"verbose must be an integer of at least 0 or a bool, got {verbose!r}.")
    return int(verbose)


def resolve_terms(terms: Any, n: int, encoding: Encoding) -> Terms:
    """Return all tuples of n code columns, or those that `terms` names."""
    if terms is None:
        return Terms.of_order(n, encoding.cardinalities)
    chosen = resolve_attributes(terms, n, encoding.names, parts=False)
    return Terms.of(chosen[n].tolist() if chosen else [], encoding.cardinalities)


def resolve_attributes(
    terms: Any, n: int, names: Sequence[str], *, parts: bool
) -> dict[int, np.ndarray] | None:
    """Return the tuples of attributes that `terms` names, by order; None for all of them.

    With `parts`, tuples may be of up to n attributes, and bring all their parts with them.
    """
    if terms is None:
        return None
    tuples = read_tuples(terms, names)
    for term, columns in tuples:
        fits = len(columns) <= n if parts else len(columns) == n
        if not fits or len(set(columns)) != len(columns):
            most = "up to " if parts else ""
            raise ValueError(
                f"Each of `terms` must name {most}{n} different attributes since n={n}, got "
                f"{term!r}."
            )
    found: dict[int, set[tuple[int, ...]]] = {order: set() for order in range(1, n + 1)}
    for _, columns in tuples:
        for order in range(1 if parts else n, len(columns) + 1):
            found[order] |= set(combinations(sorted(columns), order))
    return {
        order: np.array(sorted(chosen), np.int64).reshape(-1, order)
        for order, chosen in found.items()
    }


def read_tuples(terms: Any, names: Sequence[str]) -> list[tuple[Any, tuple[int, ...]]]:
    """Return each of `terms` as it was given and as places of attributes."""
    places = {name: i for i, name in enumerate(names)}
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise ValueError(f"`terms` must be a list of tuples of attributes or None, got {terms!r}.")
    tuples = []
    for term in terms:
        members = tuple(term) if _is_list(term) else (term,)
        tuples.append((term, tuple(_find_column(member, places) for member in members)))
    if not tuples:
        raise ValueError("`terms` is empty; give at least one tuple, or None for all of them.")
    return tuples


def check_random(random_state: Any) -> None:
    """Raise ValueError for what scikit-learn takes for no source of random numbers; draw none."""
    try:
        check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state must be an integer from 0 to {2**32 - 1}, a RandomState or None, got "
            f"{random_state!r}."
        ) from None


def draw_seed(random_state: Any) -> int:
    """Return a seed for draws, from what `check_random` allows."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _is_list(term: Any) -> bool:
    return isinstance(term, Iterable) and not isinstance(term, str)


def _find_column(member: Any, places: dict[str, int]) -> int:
    """Return the position of an attribute given by name or index."""
    if isinstance(member, str) and member in places:
        return places[member]
    is_index = isinstance(member, numbers.Integral) and not isinstance(member, bool)
    if is_index and 0 <= member < len(places):
        return int(member)
    name = member if isinstance(member, str) else None
    raise ValueError(
        f"`terms` names {member!r}, and X has no such column. {suggest(name, list(places))}"
    )


def check_callbacks(callbacks: Any) -> list[Callable[..., Any]]:
    """Return the callbacks as a list."""
    if callbacks is None:
        return []
    if not _is_list(callbacks) or not all(callable(callback) for callback in callbacks):
        raise ValueError(f"callbacks must be a list of functions or None, got {callbacks!r}.")
    return list(callbacks)


def weigh_classes(
    class_weight: Any, labels: Labels, codes: np.ndarray, weights: np.ndarray | None
) -> np.ndarray | None:
    """Return sample weights times class weights, None if all are 1."""
    totals = np.bincount(codes, weights, minlength=labels.n_classes)
    by_class = class_factors(class_weight, labels, totals)
    if by_class is None:
        return weights
    factors = by_class[codes]
    return factors if weights is None else weights * factors


def class_factors(class_weight: Any, labels: Labels, totals: np.ndarray) -> np.ndarray | None:
    """Return the weight of each class, (n_classes,) float64, None if all are 1.

    `totals` are the sample weights of each class, summed.
    """
    if class_weight is None or class_weight == {}:
        return None
    by_class = np.ones(labels.n_classes)
    if isinstance(class_weight, dict):
        # A class that these rows happen to lack is passed over: a fold may miss a rare one.
        found = {label: labels.code_of(label) for label in class_weight}
        if all(code is None for code in found.values()):
            raise ValueError(
                f"class_weight names {list_names(class_weight, 5)}, none of which is a class of y. "
                f"{suggest(next(iter(class_weight)), labels.classes.tolist(), 'classes')}"
            )
        for label, code in found.items():
            weight = check_number(
                f"class_weight[{label!r}]", class_weight[label], above=0.0, included=True
            )
            if code is not None:
                by_class[code] = weight
    else:
        check_choice("class_weight", class_weight, ["balanced"])
        by_class = totals.sum() / (labels.n_classes * totals)
    return by_class


def check_total(weights: np.ndarray, *, is_part: bool = False) -> None:
    """Raise ValueError for weights whose sum is too large to count with, or too small.

    Those of a part of the rows may be small, since others make up for it.
    """
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    # Far beyond what anyone means; squares and quotients of sums are still finite.
    least, most = 1e-100, 1e100
    if total > most or (0 < total < least and not is_part):
        raise ValueError(
            f"The weights of the rows (sample_weight times class_weight) sum to {total:.3g}, which "
            f"is not between {least:g} and {most:g}; scale them, for instance to a mean of 1."
        )


def ignored_classes(class_weight: Any) -> list[Any]:
    """Return the labels to which `class_weight` gives no weight: their rows are as if absent."""
    if not isinstance(class_weight, dict):
        return []
    return [label for label, weight in class_weight.items() if weight == 0]
