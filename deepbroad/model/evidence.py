"""Scores that follow from how many rows of each class a cell has, by a few weights for each term.

With π_c the share of class c, a cell of k_c rows of each class, n together, scores

    β_c = Σ_i w_i log((k_c + m_i π_c) / ((n + m_i) π_c)) + Σ_j v_jc h_j(n)

where w and v are its term's: its log lift, smoothed a little and a lot, and what it tells that so
many rows share a joint value, whatever their classes. A cell without rows scores 0.
"""

from dataclasses import dataclass

import numpy as np

# m: rows of the mean that the lift of a cell is smoothed by.
SMOOTHINGS = (5.0, 50.0)
N_LIFTS = len(SMOOTHINGS)
# h: log2(1 + n), and whether there is a row, and a second one.
N_FREQUENCIES = 3


def class_shares(class_counts: np.ndarray) -> np.ndarray:
    """Return π, (C,), of classes that some rows may not have at all."""
    return (class_counts + 1.0 / len(class_counts)) / (class_counts.sum() + 1.0)


def log_lifts(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the log lifts of cells, (n_cells, C, N_LIFTS), given their counts (n_cells, C)."""
    counts = np.asarray(counts, np.float64)
    total = counts.sum(axis=1, keepdims=True)
    return np.stack(
        [np.log((counts + m * shares) / ((total + m) * shares)) for m in SMOOTHINGS], axis=2
    )


def frequencies(counts: np.ndarray) -> np.ndarray:
    """Return h of cells, (n_cells, N_FREQUENCIES), given their counts (n_cells, C)."""
    total = np.asarray(counts, np.float64).sum(axis=1)
    return np.column_stack([np.log2(1.0 + total), total > 0, total > 1])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The weights of all terms, and the shares of classes that lifts are relative to.

    Attributes
    ----------
    of_lifts : ndarray of shape (n_terms, N_LIFTS)
        w.
    of_frequencies : ndarray of shape (n_terms, N_FREQUENCIES, C)
        v.
    shares : ndarray of shape (C,)
        π.
    """

    of_lifts: np.ndarray
    of_frequencies: np.ndarray
    shares: np.ndarray

    def scores(self, term: int, counts: np.ndarray) -> np.ndarray:
        """Return β of cells of a term, (n_cells, C), given their counts."""
        lifts = log_lifts(counts, self.shares) @ self.of_lifts[term]
        return lifts + frequencies(counts) @ self.of_frequencies[term]
