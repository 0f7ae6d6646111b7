"""Minimisers of an objective, blind to data and tables."""

from deepbroad.solvers.dual import DualAscent, DualFirst
from deepbroad.solvers.lbfgs import LBFGS
from deepbroad.solvers.solver import Objective, Progress, Runner, Solution, Solver, State
from deepbroad.solvers.stochastic import SGD, StochasticObjective

__all__ = [
    "LBFGS",
    "SGD",
    "DualAscent",
    "DualFirst",
    "Objective",
    "Progress",
    "Runner",
    "Solution",
    "Solver",
    "State",
    "StochasticObjective",
]
