"""Minimisers of an objective, blind to data, tables and kernels."""

from deepbroad.solvers.lbfgs import LBFGS
from deepbroad.solvers.solver import Objective, Progress, Solution, Solver

__all__ = ["LBFGS", "Objective", "Progress", "Solution", "Solver"]
