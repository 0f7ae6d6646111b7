"""What a fit minimises over its rows: losses as data behind one contract.

A loss is a kernel, called as ``rows(values, start, stop, labels, weights, n_scores, partial,
lanes)`` like `deepbroad.kernels.softmax.softmax_rows`: it turns the scores of rows, relative to
class 0, into weighted derivatives of the loss by these scores, and writes the weighted loss and the
sums of the derivatives of every tile. It must be linear in the weights, since identical rows may be
merged, and must not change when all scores of a row grow alike, since class 0 always has score 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deepbroad.kernels.brier import brier_rows
from deepbroad.kernels.hinge import hinge_rows
from deepbroad.kernels.softmax import softmax_rows


@dataclass(frozen=True)
class Loss:
    """One loss.

    Attributes
    ----------
    name : str
        As the estimators' parameter `loss` has it.
    rows : callable
        The kernel.
    after : Loss or None
        A convex loss to minimise first: a loss that is not convex starts from there.
    is_likelihood : bool
        Whether scores are log odds. If not, a temperature on held-out scores makes them so.
    """

    name: str
    rows: Callable[..., None]
    after: "Loss | None" = None
    is_likelihood: bool = True

    @property
    def stages(self) -> "list[Loss]":
        """The losses to minimise in turn, each from the solution of the one before."""
        return [*([] if self.after is None else self.after.stages), self]


# -log P(y|x)
LOG_LOSS = Loss("log_loss", softmax_rows)
# Σ_c (1[y=c] - P(c|x))²: C times the square of what RMSE averages over classes.
MSE = Loss("mse", brier_rows, after=LOG_LOSS)
# max(0, 1 + max_{c≠y} s_c - s_y)², of the scores s themselves.
SQUARED_HINGE = Loss("squared_hinge", hinge_rows, is_likelihood=False)

LOSSES = {loss.name: loss for loss in (LOG_LOSS, MSE, SQUARED_HINGE)}
