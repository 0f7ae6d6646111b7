"""What a fit minimises over its rows: losses as data behind one contract.

A loss is a kernel, called as ``rows(values, start, stop, labels, weights, n_scores, partial,
lanes)`` like `deepbroad.kernels.softmax.softmax_rows`: it turns the scores of rows, relative to
class 0, into weighted derivatives of the loss by these scores, and writes the weighted loss and the
sums of the derivatives of every tile. It must be linear in the weights, since identical rows may be
merged, and must not change when all scores of a row grow alike, since class 0 always has score 0.

Solvers precondition by the log loss's curvature whatever the loss: curvatures of their own were
tried for both others and spared no evaluations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

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
    from_target : bool
        Whether fits start from the target of the penalty instead of the family's start.
    is_likelihood : bool
        Whether scores are log odds. If not, a temperature on held-out scores makes them so.
    """

    name: str
    rows: Callable[..., None]
    after: "Loss | None" = None
    from_target: bool = False
    is_likelihood: bool = True

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # By name: a kernel that came itself would be compiled again in every process.
        if LOSSES.get(self.name) is self:
            return loss_named, (self.name,)
        return super().__reduce_ex__(protocol)

    @property
    def stages(self) -> "list[Loss]":
        """The losses to minimise in turn, each from the solution of the one before."""
        return [*([] if self.after is None else self.after.stages), self]


# -log P(y|x)
LOG_LOSS = Loss("log_loss", softmax_rows)
# Σ_c (1[y=c] - P(c|x))², of which RMSE is the root of the mean over rows and classes. From the log
# loss's solution F ends lower than from the generative model (DBL) or 0 (LR) in 11 of 12 fits with
# n = 2 on car, nursery, adult, connect-4, splice and letter: 0.021 for 0.064 with LR on nursery.
MSE = Loss("mse", brier_rows, after=LOG_LOSS)
# max(0, 1 + max_{c≠y} s_c - s_y)², of the scores s themselves. The generative model's are far
# beyond its margins: where classes are separable the loss is 0 at once, and a fit ends there long
# before the penalty has its way.
SQUARED_HINGE = Loss("squared_hinge", hinge_rows, from_target=True, is_likelihood=False)

LOSSES = {loss.name: loss for loss in (LOG_LOSS, MSE, SQUARED_HINGE)}


def loss_named(name: str) -> Loss:
    """Return a loss by its name."""
    return LOSSES[name]
