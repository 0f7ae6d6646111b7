"""What the choice needs of fits of one set of tables to all validation folds."""

from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from deepbroad.engine.choice.dealing import DealtRows
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms


class Traces(NamedTuple):
    """What the evidence knows of each table, means over folds, (n_tables,).

    Attributes
    ----------
    effective : ndarray
        Effective number of parameters, by a probe: noisy, may be negative, right in the mean.
    diagonal : ndarray
        The same by the diagonal of the Hessian: exact, but overlaps of tables count repeatedly.
    squares : ndarray
        Sum of the squared scores of cells.
    """

    effective: np.ndarray
    diagonal: np.ndarray
    squares: np.ndarray


class HeldLosses(NamedTuple):
    """Log losses of the rows that are held out, by models that were not fitted to them.

    Where N rows are held out and none contradicts a model, one row more may do so all the same:
    with the probability ε = ½ / (N + 1), by Jeffreys' prior. Models are compared by losses that
    allow for that, each row's label being another one with this probability. Else the model whose
    penalties are weakest would always be the best of those that make no mistake.

    Attributes
    ----------
    each : ndarray of shape (n_held,)
        Losses that allow for doubt.
    weights : ndarray of shape (n_held,)
    plain : float
        The mean loss without doubt.
    """

    each: np.ndarray
    weights: np.ndarray
    plain: float

    @classmethod
    def of(
        cls, losses: np.ndarray, held: np.ndarray, margins: np.ndarray | float = 0.0
    ) -> "HeldLosses":
        """Take losses (n, K) of rows by their weights (n, K) among those that a fold holds out.

        `margins` (n, K) are the scores of their labels less the mean of the others.
        """
        shares = held.astype(np.float64)
        weights = shares.sum(axis=1)
        kept = weights > 0
        doubt = 0.5 / (weights.sum() + 1.0)
        each = ((losses + doubt * margins) * shares).sum(axis=1)[kept] / weights[kept]
        plain = float((losses * shares).sum() / weights.sum())
        return cls(each, weights[kept], plain)

    @property
    def mean(self) -> float:
        """The mean by weight, with doubt."""
        # Not by matrix products: libraries sum these differently with more threads.
        return float((self.weights * self.each).sum() / self.weights.sum())

    def gain_over(self, before: "HeldLosses") -> tuple[float, float]:
        """Return how much lower the mean is than one of the same rows, and its standard error."""
        difference, total = before.each - self.each, float(self.weights.sum())
        gain = float((self.weights * difference).sum()) / total
        spread = float((self.weights * (difference - gain) ** 2).sum()) / total
        return gain, float(np.sqrt(spread / max(total - 1.0, 1.0)))


class Fits(Protocol):
    """Models of the same tables, each fitted to the training rows of a fold.

    Attributes
    ----------
    terms : Terms
    present : bool array of shape (n_tables, K)
        Which tables the model of each fold has; may change between fits.
    point : object
        The latest fit; setting it goes back to another.
    """

    rows: DealtRows
    threads: Threads
    terms: Terms
    present: np.ndarray
    point: Any
    n_folds: int

    @property
    def losses(self) -> np.ndarray:
        """Log loss of each row under the model of each fold, (n, K)."""

    def minimise(self, strength: np.ndarray, known: float = inf) -> HeldLosses:
        """Fit with strengths (n_tables,), going on from the point; return the held-out losses.

        A fit may end early where steps make it ever worse than a `known` held-out loss.
        """

    def held_shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, folds and probabilities (n, C) of all held-out rows."""

    def variances(self) -> np.ndarray:
        """Return the squares of what tables add to the scores, summed over rows, (n_tables, K)."""

    def carry(self, other: Any) -> None:
        """Go on from where fits of the same kind to fewer tables are."""

    def traces(self, draws: np.ndarray) -> Traces:
        """Return what the evidence knows of each table; `draws` (n_rows,) are uniform.

        With labels y* drawn from the model, b = Zᵀ(1[y*] - p) has the Hessian H as its covariance,
        so that b·(H + Λ)⁻¹b, summed over the cells of a table, has its effective number of
        parameters as its mean.
        """


def find_margins(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the score of each row's label less the mean of the others, (n, K).

    `scores` (n, K, C - 1) are relative to the first class.
    """
    n_others = scores.shape[2]
    rows, is_first = np.arange(len(labels)), (labels == 0)[:, None]
    own = np.where(is_first, 0.0, scores[rows, :, np.maximum(labels, 1) - 1])
    found: np.ndarray = own - (scores.sum(axis=2, dtype=np.float64) - own) / n_others
    return found


def draw_residuals(shares: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return 1[y*] - p of labels drawn from p, for all classes but the first, (n, C - 1)."""
    below = 1.0 - shares.sum(axis=1, keepdims=True)
    bounds = np.concatenate([below, below + np.cumsum(shares, axis=1)], axis=1)
    bounds[:, -1] = np.inf
    drawn = (draws[:, None] >= bounds[:, :-1]) & (draws[:, None] < bounds[:, 1:])
    found: np.ndarray = drawn - shares
    return found
