"""Effects under one integer each, so that a single look-up serves terms of all sorts."""

from dataclasses import dataclass
from math import prod

import numpy as np

from deepbroad.export.effects import Effects, TermEffects

MAX_CELL = 2**63 - 1  # of a signed integer of 64 bits, which all targets have


@dataclass(frozen=True, eq=False)
class Cells:
    """The effects of a model by cell; a cell that is not listed adds nothing.

    The cell of a term is base + Σ_j stride_j · code_j. What joint values of a term add that are
    not listed is a term of its own with strides 0: a single cell, reached by all rows without a
    never-seen value. The listed ones then hold the difference to it.

    Attributes
    ----------
    members, strides : int64 arrays of shape (n_terms, depth)
        Code columns and their strides. Terms of fewer columns repeat their first with stride 0.
    bases, spaces : int64 arrays of shape (n_terms,)
        The first cell of each term, and how many it spans.
    cells : int64 array of shape (n_effects,)
        Ascending.
    scores : float64 array of shape (n_effects, C - 1)
    """

    members: np.ndarray
    strides: np.ndarray
    bases: np.ndarray
    spaces: np.ndarray
    cells: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, effects: Effects) -> "Cells":
        """Number the effects of a model; ValueError if 64 bits do not suffice."""
        cardinalities = [column.cardinality for column in effects.columns]
        rows: list[tuple[tuple[int, ...], list[int], int, int]] = []
        cells, scores, base = [np.empty(0, np.int64)], [np.empty((0, effects.n_scores))], 0
        for term in effects.terms():
            shape = [cardinalities[c] for c in term.columns]
            strides = [prod(shape[j + 1 :]) for j in range(len(shape))]
            parts = [(strides, prod(shape), *_listed(term, strides))]
            if term.otherwise.any():
                none = [0] * len(shape)
                parts.append((none, 1, np.zeros(1, np.int64), term.otherwise[None]))
            for steps, space, own, added in parts:
                if len(own) == 0:
                    continue
                if base + space > MAX_CELL:
                    raise ValueError(
                        "This model's tuples have more than 2**63 joint values, which no integer "
                        'of SQL or ONNX can number; export it with to="json", or fit a lower n.'
                    )
                rows.append((term.columns, steps, base, space))
                cells.append(base + own)
                scores.append(added)
                base += space
        depth = max((len(row[0]) for row in rows), default=1)
        return cls(
            np.array([_pad(c, depth, c[0]) for c, *_ in rows], np.int64).reshape(-1, depth),
            np.array([_pad(s, depth, 0) for _, s, *_ in rows], np.int64).reshape(-1, depth),
            np.array([row[2] for row in rows], np.int64),
            np.array([row[3] for row in rows], np.int64),
            np.concatenate(cells),
            np.concatenate(scores),
        )


def _listed(term: TermEffects, strides: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the listed joint values within their term, ascending, and scores."""
    places = np.array(strides, np.int64) @ term.codes
    order = np.argsort(places, kind="stable")
    return places[order], (term.scores - term.otherwise)[order]


def _pad(values: tuple[int, ...] | list[int], depth: int, filler: int) -> list[int]:
    """Return values with fillers up to a length."""
    return [*values, *[filler] * (depth - len(values))]
