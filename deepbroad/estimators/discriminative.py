"""What DBL and LR share: an objective to minimise, watched and stopped from outside."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from deepbroad.engine.evidence import SOLVER as EVIDENCE_SOLVER
from deepbroad.engine.evidence import fit_evidence, has_evidence
from deepbroad.engine.journal import NO_JOURNAL, Journal
from deepbroad.engine.temperature import fit_log_odds
from deepbroad.engine.training import Training
from deepbroad.estimators.base import TableClassifier
from deepbroad.estimators.parameters import (
    check_callbacks,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_random,
    check_verbosity,
    draw_seed,
)
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.estimators.resumption import Screened, check_folder, open_journal
from deepbroad.model.family import Family
from deepbroad.model.information import Scores
from deepbroad.model.loss import LOG_LOSS, LOSSES
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS, SGD, DualFirst, Progress, Solution, Solver

# Kinds of L-BFGS by name, and how far each preconditions its search.
PRECONDITIONING = {"lbfgs": LBFGS.preconditioning, "lbfgs-plain": 0.0}
SOLVERS = ["auto", *PRECONDITIONING, "sgd"]
# A gap is all that is left, not what one more iteration would bring.
GAP = 0.1
# Held-out loss is noisier than F, and a pass of many steps brings more than one of a single step.
SGD_TOLERANCE = 200.0
# The gap that ends dual ascent in its place, in what a pass brings at least when SGD goes on.
SGD_GAP = 0.25
# What it keeps beside the tables takes as much as an L-BFGS that remembers so many pairs.
SGD_HISTORY = 3

if TYPE_CHECKING:
    from deepbroad.estimators.watch import Watch

logger = logging.getLogger("deepbroad")


class DiscriminativeClassifier(TableClassifier):
    """Base of the classifiers whose weights minimise a loss, conditional likelihood or another."""

    alpha: float
    loss: str = LOG_LOSS.name
    solver: str
    max_iter: int
    tol: float
    warm_start: bool
    callbacks: Any
    checkpoint: Any
    verbose: int

    # While a fit that is to be seen goes on.
    _watch: "Watch | None" = None
    # While a table is prepared for a fit; then the prepared table has it.
    _journal: Journal = NO_JOURNAL

    @abstractmethod
    def _family(self, training: Training, prepared: Prepared) -> Family:
        """Return the arrays that set this model apart, as data."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_alpha()
        check_number("tol", self.tol, above=0.0, included=True)
        check_count("max_iter", self.max_iter, least=0)
        check_choice("loss", self.loss, list(LOSSES))
        check_choice("solver", self.solver, SOLVERS)
        check_flag("warm_start", self.warm_start)
        check_verbosity(self.verbose)
        check_random(getattr(self, "random_state", 0))
        check_callbacks(self.callbacks)
        check_folder(self.checkpoint)

    def _check_alpha(self) -> None:
        """Raise ValueError for a strength that is none."""
        check_number("alpha", self.alpha, above=0.0, included=True)

    @property
    def _history(self) -> int:  # type: ignore[override]
        """Pairs of vectors that the solver remembers, or room for as many."""
        return SGD_HISTORY if self.solver == "sgd" else LBFGS.history

    @property
    def _in_batches(self) -> bool:  # type: ignore[override]
        return self.solver == "sgd"

    @property
    def _solved(self) -> bool:
        """Whether a solver fits the model at all."""
        return True

    @contextmanager
    def _watching(self) -> Iterator[None]:
        if not self.verbose:
            yield
            return
        try:
            # Only a fit that is watched needs what draws the line.
            from rich.console import Console

            from deepbroad.estimators.watch import Watch

            with Watch(Console(stderr=True), float(self.tol)) as self._watch:
                yield
        finally:
            self.__dict__.pop("_watch", None)

    def _prepare(self, *arguments: Any, **named: Any) -> Prepared:
        try:
            prepared = super()._prepare(*arguments, **named)
            journal, provision = self._journal, prepared.provision
        finally:
            self.__dict__.pop("_journal", None)
        if isinstance(prepared.structure, Screened):
            scores = Scores(prepared.structure.relevance, prepared.structure.gain)
            provision = replace(provision, scores=scores, by_limit=True)
        elif provision.by_limit and provision.scores is not None:
            if journal.has_begun:
                raise MemoryError(
                    "The fit that the checkpoint is of had memory for all tuples, and memory_limit "
                    "allows fewer now. Raise it, take another folder, or delete this one."
                )
            members = np.sort(prepared.plan.terms.members, axis=1)
            scores = provision.scores
            journal.note("terms", Screened(members, scores.relevance, scores.gain))
        return replace(prepared, journal=journal, provision=provision)

    def _settle(self, coded: Coded) -> tuple[Coded, Terms | None, Any]:
        self._open_journal(coded)
        return super()._settle(coded)

    def _open_journal(self, coded: Coded) -> None:
        """Open the checkpoint of a fit, if it is to have one."""
        if self.checkpoint is not None and self._solved and coded.searches:
            name, parameters = type(self).__name__, self.get_params(deep=False)
            self._journal = open_journal(self.checkpoint, parameters, name, coded)

    def _choose_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        screened = self._journal.recall("terms", Screened)
        if screened is not None:
            return screened.terms(coded.depth, coded.encoding.cardinalities), screened
        return super()._choose_terms(coded)

    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        callbacks = check_callbacks(self.callbacks)
        if self.verbose:
            callbacks.append(log_progress)
        if self._watch is not None:
            self._watch.n_rows = prepared.source.n_rows
            callbacks.append(self._watch)
        family = self._family(training, prepared)
        if self._scores_by_counts(prepared) and has_evidence(training):
            seed = draw_seed(getattr(self, "random_state", 0))
            solver = replace(EVIDENCE_SOLVER, max_iter=int(self.max_iter), tol=float(self.tol))
            tables, solution = fit_evidence(
                training, family, seed=seed, solver=solver, callbacks=callbacks
            )
            self.temperature_ = 1.0
        else:
            tables, solution, self.temperature_ = fit_log_odds(
                training,
                family,
                self._make_solver(prepared.provision.history),
                LOSSES[self.loss],
                callbacks=callbacks,
                warm=self._previous(prepared),
                rows=prepared.source,
                journal=prepared.journal,
            )
        if solution.status not in ("stopped", "interrupted"):
            prepared.journal.close()
        self._hold(solution)
        self._warn(solution)
        return tables

    def _scores_by_counts(self, prepared: Prepared) -> bool:
        """Tell whether cells score by how many rows of each class they have."""
        return False

    def _hold(self, solution: Solution) -> None:
        """Set the attributes that tell how the solver ended."""
        self.n_iter_ = solution.n_iter
        self.n_evaluations_ = len(solution.evaluation_curve)
        self.loss_ = solution.loss
        self.loss_curve_ = solution.loss_curve
        self.evaluation_curve_ = solution.evaluation_curve
        self.status_ = solution.status

    def _make_solver(self, history: int) -> Solver | DualFirst:
        """Return the solver that the parameters name."""
        max_iter, tol = int(self.max_iter), float(self.tol)
        if self.solver == "sgd":
            seed = draw_seed(getattr(self, "random_state", 0))
            sgd = SGD(max_iter=max_iter, tol=SGD_TOLERANCE * tol, seed=seed)
            return DualFirst(sgd, gap=SGD_GAP * sgd.tol, pairs=SGD_HISTORY)
        kind = "lbfgs" if self.solver == "auto" else self.solver
        lbfgs = LBFGS(
            max_iter=max_iter, tol=tol, history=history, preconditioning=PRECONDITIONING[kind]
        )
        return DualFirst(lbfgs, gap=GAP * tol, pairs=history) if self.solver == "auto" else lbfgs

    def _previous(self, prepared: Prepared) -> ScoreTables | None:
        """Return the model of the previous fit to start from, if its cells mean the same."""
        if not self.warm_start or not hasattr(self, "_scorer"):
            return None
        if (
            np.array_equal(self._labels.classes, prepared.labels.classes)
            and self._encoding.to_dict() == prepared.encoding.to_dict()
            and (before := self._scorer.model).has_terms_of(prepared.plan)
        ):
            previous = before.reordered(prepared.plan)
            # Scores as the loss has them; a model that was only counted has log odds.
            return previous.scaled(1.0 / getattr(self, "temperature_", 1.0))
        warnings.warn(
            "warm_start: the attributes' values, the classes or the tuples changed since the last "
            "fit (a model that scores by counts has tuples of its own), so this fit starts afresh.",
            UserWarning,
            stacklevel=4,
        )
        return None

    def _warn(self, solution: Solution) -> None:
        """Warn where the fit ended before it converged."""
        reasons = {
            "max_iter": f"reached max_iter={self.max_iter} before the loss settled; raise "
            "max_iter, or alpha for a simpler model",
            "interrupted": "was interrupted; the model holds the weights that it had come to",
            "stalled": "found no step that lowers the loss further; a larger alpha or tol helps",
        }
        if solution.status in reasons:
            warnings.warn(
                f"{type(self).__name__} {reasons[solution.status]} "
                f"({solution.n_iter} iterations, loss {solution.loss:.6g}).",
                ConvergenceWarning,
                stacklevel=4,
            )


def log_progress(progress: Progress) -> None:
    """Log a line per iteration."""
    logger.info(
        "iteration %d, %d passes, loss %.6f, %.1f s",
        progress.iteration,
        progress.evaluations,
        progress.loss,
        progress.seconds,
    )
