"""The recipe of a model: which tables it has, at which resolutions of numbers, how penalised.

A recipe is a value. The automatic choice makes one, a user may give one, a file keeps one, and
fitting one to the same rows gives the same model.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deepbroad.data.code_column import CategoryColumn, CodeColumn, NumberColumn
from deepbroad.data.encoding import Encoding
from deepbroad.data.names import list_names, suggest
from deepbroad.model.terms import NONE

FORMAT = 1
# Effects that `str` lists.
MOST_SHOWN = 10
_Key = TypeVar("_Key")
_INFINITIES = {"inf": inf, "-inf": -inf}


class RecipeTable(NamedTuple):
    """One table.

    Attributes
    ----------
    features : tuple of str
        In the order of the columns that the recipe was made for.
    resolutions : tuple of int
        For each feature which of its `edges` cuts it; 0 for a category.
    strength : float
        λ of the penalty ½ λ β² of its scores.
    """

    features: tuple[str, ...]
    resolutions: tuple[int, ...]
    strength: float


@dataclass(frozen=True, repr=False)
class Recipe:
    """Which tables a model has, which cut points of numbers, and which strength for each table.

    Parameters
    ----------
    edges : dict from str to list of lists of float
        For each number in a table, the cut points of each of its resolutions, coarsest first. A
        value x is in the bin of the number of cut points <= x.
    tables : tuple of RecipeTable
        At least one, each of other features or resolutions.
    by_counts : bool
        Whether cells score by how many rows of each class they have (`deepbroad.model.evidence`).

    Examples
    --------
    >>> recipe = Recipe(
    ...     {"age": [[40.0], [30.0, 40.0, 50.0]]},
    ...     (RecipeTable(("age",), (1,), 2.0), RecipeTable(("age", "job"), (0, 0), 30.0)),
    ... )
    >>> print(recipe)
    Recipe of 2 tables: 1 of order 1, 1 of order 2
    2 effects, the least penalised first: age (2), age x job (30)
    1 number: age (2 resolutions, 2 to 4 bins)
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    edges: dict[str, list[list[float]]]
    tables: tuple[RecipeTable, ...]
    by_counts: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def of(
        cls,
        encoding: Encoding,
        members: np.ndarray,
        strength: np.ndarray,
        by_counts: bool = False,
    ) -> "Recipe":
        """Return the recipe of tables that are given by code columns.

        Resolutions that no table uses are left out. Strengths are rounded to two digits. Two
        tables of the same cells are one: its strength is that of the sum of their scores.

        Parameters
        ----------
        encoding : Encoding
        members : int array of shape (n_tables, depth)
            Code columns, filled up with `NONE`.
        strength : float array of shape (n_tables,)
        by_counts : bool
        """
        columns = encoding.columns
        used = sorted({int(c) for c in np.unique(members) if c != NONE})
        edges = _list_edges(encoding, used)
        place = {}
        for c in used:
            column = columns[c]
            place[c] = (
                edges[column.name].index(column.cuts.tolist())
                if isinstance(column, NumberColumn)
                else 0
            )
        found: _Strengths[tuple[tuple[int, ...], tuple[int, ...]]] = _Strengths()
        for row, value in zip(members.tolist(), strength.tolist(), strict=True):
            own = sorted(c for c in row if c != NONE)
            found.add(
                (tuple(columns[c].attribute for c in own), tuple(place[c] for c in own)), value
            )
        tables = sorted(found.items(), key=lambda item: (len(item[0][0]), item[0]))
        return cls(
            edges,
            tuple(
                RecipeTable(
                    tuple(encoding.names[a] for a in attributes),
                    resolutions,
                    round_strength(value),
                )
                for (attributes, resolutions), value in tables
            ),
            bool(by_counts),
        )

    @property
    def depth(self) -> int:
        """How many features the deepest table joins."""
        return max(len(table.features) for table in self.tables)

    @property
    def orders(self) -> list[int]:
        """The orders that tables have, ascending."""
        return sorted({len(table.features) for table in self.tables})

    @property
    def effects(self) -> dict[tuple[str, ...], float]:
        """The smallest strength of the tables of each tuple of features, ascending."""
        found: dict[tuple[str, ...], float] = {}
        for features, _, strength in self.tables:
            found[features] = min(strength, found.get(features, inf))
        return dict(sorted(found.items(), key=lambda item: item[1]))

    @property
    def features(self) -> list[str]:
        """The features that tables have, in the order in which they first occur."""
        return list(dict.fromkeys(name for table in self.tables for name in table.features))

    def check_names(self, names: Sequence[str]) -> None:
        """Raise ValueError unless a table with these columns has all features of the recipe."""
        known = set(names)
        missing = [name for name in self.features if name not in known]
        if missing:
            raise ValueError(
                f"The recipe has tables of {list_names(missing, 5)}, and X has no such columns. "
                f"{suggest(missing[0], list(names))}"
            )

    def members(self, encoding: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return the code columns of each table, and its strength.

        Parameters
        ----------
        encoding : Encoding
            Its numbers are cut by the recipe's `edges`.

        Returns
        -------
        members : int64 array of shape (n_tables, depth)
            Code columns, ascending and filled up with `NONE`; tables are in order of these.
        strength : float64 array of shape (n_tables,)
        """
        self.check_names(encoding.names)
        columns, first, wanted = {}, 0, set(self.features)
        for name, own in zip(encoding.names, encoding.owned, strict=True):
            if name in wanted:
                columns[name] = self._columns_of(name, own, first)
            first += len(own)
        found: _Strengths[tuple[int, ...]] = _Strengths()
        for features, resolutions, strength in self.tables:
            pairs = zip(features, resolutions, strict=True)
            found.add(tuple(sorted(columns[name][place] for name, place in pairs)), strength)
        rows = sorted(found, key=lambda row: (len(row), row))
        depth = self.depth
        members = np.array([[*row, *[NONE] * (depth - len(row))] for row in rows], np.int64)
        return members, np.array([found[row] for row in rows])

    def _columns_of(self, name: str, own: Sequence[CodeColumn], first: int) -> list[int]:
        """Return the code column of each resolution of a feature, whose first one is given."""
        edges = self.edges.get(name)
        is_number = isinstance(own[0], NumberColumn)
        if edges is None and not is_number:
            return [first]
        if edges is not None and is_number:
            cuts = [one.cuts.tolist() for one in own if isinstance(one, NumberColumn)]
            if cuts[: len(edges)] == edges:
                return list(range(first, first + len(edges)))
            raise ValueError(f"column {name!r} is not cut by the edges of the recipe")
        if edges is not None and isinstance(own[0], CategoryColumn) and not own[0].values:
            return [first] * len(edges)  # nothing but missing values here: there is no number
        words = ("a number", "categories") if edges is not None else ("categories", "a number")
        raise ValueError(
            f"The recipe takes column {name!r} for {words[0]}, and it holds {words[1]} here. "
            "Convert it, or give the `categorical_features` that the recipe was chosen with."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold, from which `from_dict` makes an equal recipe."""
        return {
            "format": FORMAT,
            "edges": {
                name: [[cut if isfinite(cut) else str(cut) for cut in cuts] for cuts in own]
                for name, own in self.edges.items()
            },
            "tables": [
                [list(features), list(resolutions), strength]
                for features, resolutions, strength in self.tables
            ],
            "by_counts": self.by_counts,
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Recipe":
        """Return the recipe that `to_dict` described; ValueError if it cannot have."""
        match data:
            case {"format": int(number)} if number != FORMAT:
                raise ValueError(f"a recipe of format {number}, and this version reads {FORMAT}")
            case {
                "format": int(),
                "edges": dict(edges),
                "tables": list(tables),
                "by_counts": bool(by_counts),
            } if len(data) == 4:
                pass
            case _:
                raise ValueError(f"not a recipe: {data!r:.80}")
        return cls(
            {name: _read_edges(name, own) for name, own in edges.items()},
            tuple(_read_table(table) for table in tables),
            by_counts,
        )

    def to_json(self) -> str:
        """Return the recipe as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Return the recipe that `to_json` wrote; ValueError if it cannot have."""
        return cls.from_dict(json.loads(text))

    def __str__(self) -> str:
        counts = {k: sum(len(t.features) == k for t in self.tables) for k in self.orders}
        by_order = ", ".join(f"{count:,} of order {order}" for order, count in counts.items())
        effects = self.effects
        strongest = ", ".join(
            f"{' x '.join(names)} ({strength:g})"
            for names, strength in list(effects.items())[:MOST_SHOWN]
        )
        more = ", ..." if len(effects) > MOST_SHOWN else ""
        lines = [
            f"Recipe of {_count(len(self.tables), 'table')}: {by_order}",
            f"{_count(len(effects), 'effect')}, the least penalised first: {strongest}{more}",
        ]
        if self.edges:
            numbers = [_describe_edges(*item) for item in list(self.edges.items())[:MOST_SHOWN]]
            more = ", ..." if len(self.edges) > MOST_SHOWN else ""
            lines.append(f"{_count(len(self.edges), 'number')}: {', '.join(numbers)}{more}")
        if self.by_counts:
            lines.append("Cells score by how many rows of each class they have")
        return "\n".join(lines)

    __repr__ = __str__


class _Strengths(dict[_Key, float]):
    """λ of each table, by what tells tables apart."""

    def add(self, key: _Key, strength: float) -> None:
        """Take in a table; a second one of the same cells adds its scores to those of the first.

        The penalty ½ λ β² of a sum of scores, each with its own, has 1/λ = 1/λ₁ + 1/λ₂.
        """
        known = self.get(key)
        if known is not None:
            strength = 1.0 / (1.0 / known + 1.0 / strength) if known and strength else 0.0
        self[key] = strength


def round_strength(strength: float) -> float:
    """Return a strength in two digits: rounding on another machine hardly ever changes them."""
    return float(f"{strength:.2g}")


def _list_edges(encoding: Encoding, used: Sequence[int]) -> dict[str, list[list[float]]]:
    """Return the cut points of the numbers among some code columns, each once, fewest first."""
    found: dict[str, list[list[float]]] = {}
    for c in used:
        column = encoding.columns[c]
        if isinstance(column, NumberColumn):
            own, cuts = found.setdefault(column.name, []), column.cuts.tolist()
            if cuts not in own:
                own.append(cuts)
    # A resolution that has all cuts comes last: no other column is needed beside these.
    return {name: sorted(own, key=lambda cuts: (len(cuts), cuts)) for name, own in found.items()}


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _describe_edges(name: str, edges: Sequence[Sequence[float]]) -> str:
    """Return how a number is cut."""
    bins = sorted({len(cuts) + 1 for cuts in edges})
    sizes = f"{bins[0]} to {bins[-1]}" if len(bins) > 1 else f"{bins[0]}"
    plural = "" if bins == [1] else "s"
    return f"{name} ({_count(len(edges), 'resolution')}, {sizes} bin{plural})"


def _check(recipe: Recipe) -> None:
    """Raise ValueError for a recipe that no model has."""
    if not recipe.tables:
        raise ValueError("a recipe has at least one table")
    for name, edges in recipe.edges.items():
        for cuts in edges:
            if not all(low < high for low, high in pairwise(cuts)):
                raise ValueError(f"cut points of {name!r} must ascend")
            if any(cut != cut for cut in cuts):
                raise ValueError(f"cut points of {name!r} must be numbers")
    seen = set()
    for features, resolutions, strength in recipe.tables:
        if not features or len(set(features)) < len(features):
            raise ValueError(f"a table joins different features, not {features!r:.80}")
        if len(resolutions) != len(features):
            raise ValueError(f"the table of {features!r:.80} has a resolution for each feature")
        for name, place in zip(features, resolutions, strict=True):
            if not 0 <= place < len(recipe.edges.get(name, [[]])):
                raise ValueError(f"feature {name!r:.80} has no resolution {place!r:.20}")
        if not isfinite(strength) or strength < 0:
            raise ValueError(f"the table of {features!r:.80} has the strength {strength!r:.40}")
        key = frozenset(zip(features, resolutions, strict=True))
        if key in seen:
            raise ValueError(f"there are two tables of {features!r:.80} at one resolution")
        seen.add(key)
    unused = {*recipe.edges} - {name for table in recipe.tables for name in table.features}
    if unused:
        raise ValueError(f"no table has {min(unused)!r:.80}, which has edges")


def _read_edges(name: Any, data: Any) -> list[list[float]]:
    """Return the edges of one number, from JSON."""
    if not isinstance(name, str) or not isinstance(data, list) or not data:
        raise ValueError(f"not the edges of a number: {data!r:.80}")
    return [_read_cuts(name, cuts) for cuts in data]


def _read_cuts(name: str, data: Any) -> list[float]:
    if not isinstance(data, list):
        raise ValueError(f"cut points of {name!r:.80} must be a list")
    cuts = [_INFINITIES.get(cut, cut) if isinstance(cut, str) else cut for cut in data]
    return [_read_number(cut, f"cut points of {name!r:.80}") for cut in cuts]


def _read_number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} must be numbers, not {value!r:.40}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must be numbers of double precision") from None


def _read_table(data: Any) -> RecipeTable:
    """Return one table, from JSON."""
    match data:
        case [list(features), list(resolutions), strength]:
            if not all(isinstance(name, str) for name in features):
                raise ValueError(f"features have names, not {features!r:.80}")
            if not all(type(place) is int for place in resolutions):
                raise ValueError(f"resolutions are counted from 0, not {resolutions!r:.80}")
            number = _read_number(strength, "strengths")
            return RecipeTable(tuple(features), tuple(resolutions), number)
    raise ValueError(f"not a table of a recipe: {data!r:.80}")
