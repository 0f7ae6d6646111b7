"""L-BFGS, the paper's solver: its settings, and the coordinates and precision it searches in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepbroad.solvers.search import Search
from deepbroad.solvers.solver import Callback, Objective, Runner, Solution, State

# The first step has length 1 in the coordinates of the search. A preconditioned one can be bolder,
# which spares the first few line searches.
FIRST_STEP = 30.0
# Up to here pairs are kept in double precision; beyond, their memory matters more.
SMALL = 1_000_000


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with a strong-Wolfe line search.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    tol : float
        Stop when F fell by less than tol·max(F, 1) per iteration, over the last five. (A bound on
        the gradient alone would not do: F is a mean over rows, so the gradient of a cell that few
        rows reach is small long before its weight is right.)
    history : int
        Pairs of steps and gradient changes to remember.
    preconditioning : float
        Search over z with u = z·h^-q, h being the curvature and q this number; 0 searches over u
        itself, as the paper does. A half would make the curvature 1 everywhere: it starts fast and
        may never end; a quarter is the geometric mean of both. `benchmarks/preconditioning.py`
        counts evaluations to 1 % above plain L-BFGS's final loss: 121 for 202 on connect-4, 65 for
        96 on letter, 71 for 140 on adult; but where classes are nearly separable the last per cent
        comes no sooner (121 for 117 on poker-hand) or the stopping rule ends before it (nursery).
    double_limit : int
        With more parameters than this the pairs, the direction and the scaling are float32. A
        search holds 2·history + 2 such numbers and 4 in float64 per parameter, the gradient that
        the objective returns included.

    References
    ----------
    Liu and Nocedal, On the limited memory BFGS method for large scale optimization, 1989; Chen,
    Wang and Zhou, Large-scale L-BFGS using MapReduce, 2014, for its form without long recursions.

    Examples
    --------
    >>> import numpy as np
    >>> bowl = lambda u: (float(((u - 3) ** 2).sum()), 2 * (u - 3))
    >>> found = LBFGS().minimise(bowl, np.zeros(2))
    >>> found.status, found.u.round(6).tolist()
    ('converged', [3.0, 3.0])
    """

    max_iter: int = 500
    tol: float = 1e-5
    history: int = 10
    preconditioning: float = 0.25
    double_limit: int = SMALL

    def __post_init__(self) -> None:
        if self.history < 1:
            raise ValueError(f"history must be at least 1, got {self.history}.")

    def minimise(
        self,
        objective: Objective,
        start: np.ndarray,
        *,
        curvature: np.ndarray | None = None,
        callbacks: Sequence[Callback] = (),
        threads: Runner | None = None,
        state: State | None = None,
    ) -> Solution:
        """Return the best point found; Ctrl-C ends the search and keeps it.

        See `Solver.minimise`. A line search that is broken off counts by its lowest trial.
        """
        scaling = self._scaling(len(start), curvature)
        search = Search(self, objective, callbacks, scaling, threads)
        length, first = len(start), np.array(start, np.float64) if state is None else None
        # A caller that does not keep these needs no memory for them during the search.
        del start, curvature
        try:
            if first is not None:
                search.begin(first)
            elif state is not None:
                search.resume(state, length)
            return search.solution(search.run())
        except KeyboardInterrupt:
            return search.solution("interrupted")

    def _scaling(self, length: int, curvature: np.ndarray | None) -> np.ndarray:
        """Return κ = FIRST_STEP·h^-q in the precision of the pairs, empty for 1."""
        dtype = np.float64 if length <= self.double_limit else np.float32
        if curvature is None or not self.preconditioning:
            return np.empty(0, dtype)
        scaling = np.empty(length, dtype)
        np.power(curvature, -self.preconditioning, out=scaling, casting="same_kind")
        np.multiply(scaling, FIRST_STEP, out=scaling)
        return scaling
