"""Generative estimates: smoothed probabilities from counts, and AnJE's weight on them."""

import numpy as np

from deepbroad.model.terms import NONE, Terms


def log_priors(class_counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Return log π_y, π_y = (#_y + m/C) / (N + m), of shape (C,)."""
    n_classes = len(class_counts)
    total = class_counts.sum()
    return np.log((class_counts + smoothing / n_classes) / (total + smoothing))


def log_likelihoods(
    counts: np.ndarray, class_counts: np.ndarray, sizes: np.ndarray, smoothing: float
) -> np.ndarray:
    """Return log θ, θ = (#_{x,y} + m/|x|) / (#_y + m), of the shape of `counts`.

    `counts` is (..., C); `sizes` is |x_α| of each counted cell, (...).
    """
    refuse_zeros(counts, smoothing)
    prior = (smoothing / np.asarray(sizes, float))[..., None]
    return np.log(counts + prior) - np.log(class_counts + smoothing)


def refuse_zeros(counts: np.ndarray, smoothing: float) -> None:
    """Raise ValueError if a logarithm of 0 would be taken."""
    if smoothing == 0 and not counts.all():
        raise ValueError(
            "smoothing=0 takes the logarithm of 0, since some joint value never occurs with some "
            "class; use a small positive number, for instance smoothing=1e-3."
        )


def curvature(counts: np.ndarray, scale: np.ndarray, strength: np.ndarray | float) -> np.ndarray:
    """Return about the diagonal of the Hessian of Σ ω·loss + ½ λ u² by the parameters of cells.

    It is s² Σ_r ω_r P(c|x_r) (1 - P(c|x_r)) + λ over the rows of the cell; here each P is the
    share of the class in the cell, half a row added to every class so that none is 0.
    `counts` and `scale` are (..., C).
    """
    rows = counts.sum(axis=-1, keepdims=True)
    shares = (counts + 0.5) / (rows + 0.5 * counts.shape[-1])
    # A scale of 0 has no curvature at all; a tiny one keeps its inverse finite.
    return rows * shares * (1.0 - shares) * np.maximum(scale**2, 1e-12) + strength


def partition_weights(terms: Terms) -> np.ndarray:
    """Return 1/p of each term, (n_terms,), p being in how many of its order a column is.

    That is on average over the columns used. For all tuples of n columns p is C(a-1, n-1), the
    number of partitions that AnJE averages.
    """
    weights = np.empty(len(terms))
    for order in np.unique(terms.orders):
        chosen = terms.orders == order
        members = terms.members[chosen]
        used = len(np.unique(members[members != NONE]))
        weights[chosen] = used / float(order * np.count_nonzero(chosen))
    return weights


def evidence_shares(terms: Terms, attributes: np.ndarray) -> np.ndarray:
    """Return what `partition_weights` are multiplied by, (n_terms,), to weigh the evidence once.

    Orders share it evenly, in each the tuples of attributes, as in AnJE, and their resolutions.
    `attributes` are those that the code columns belong to.
    """
    orders, owners = terms.orders, np.append(attributes, NONE)[terms.members]
    _, which, times = np.unique(owners, axis=0, return_inverse=True, return_counts=True)
    alike = times[which.ravel()]
    weights = np.empty(len(orders))
    for order in np.unique(orders):
        chosen = orders == order
        used = np.unique(owners[chosen][:, :order]).size
        weights[chosen] = used / (order * np.sum(1.0 / alike[chosen]) * alike[chosen])
    return weights / (np.unique(orders).size * partition_weights(terms))


def evidence_rescaling(a: int, n: int, unseen: np.ndarray) -> np.ndarray:
    """Return C(a-1, n-1) / C(a-k-1, n-1) for rows with k never-seen values.

    A tuple with a never-seen value contributes nothing, so such a row keeps C(a-k, n) tuples of
    C(a, n); this factor gives what is left the weight that AnJE over a - k columns would give it.
    """
    unseen = np.asarray(unseen)
    factor = np.ones(len(unseen))
    for i in range(1, n):
        left = a - unseen - i
        factor *= np.where(left > 0, (a - i) / np.maximum(left, 1), 1.0)
    return np.where(a - unseen >= n, factor, 1.0)
