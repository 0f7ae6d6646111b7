"""Minimisers of an objective, blind to data and tables."""

from deepbroad.solvers.lbfgs import LBFGS
from deepbroad.solvers.solver import Objective, Progress, Runner, Solution, Solver, State

__all__ = ["LBFGS", "Objective", "Progress", "Runner", "Solution", "Solver", "State"]
