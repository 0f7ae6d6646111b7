"""Fits: counting for the generative models, minimising for the discriminative ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.ascent import fit_by_dual
from deepbroad.engine.batches import BatchObjective, BatchPass, Dealing, count_held
from deepbroad.engine.cell_newton import find_scores, newton_bytes
from deepbroad.engine.dual import RowDual, plan_dual
from deepbroad.engine.journal import NO_JOURNAL, Journal
from deepbroad.engine.merging import sort_rows
from deepbroad.engine.passes import EXACT_TOL, LossPass, PassDesign, add_counts, count_cells
from deepbroad.engine.row_newton import FEW_ROWS
from deepbroad.kernels.threads import Threads
from deepbroad.model.conditionals import parent_counts
from deepbroad.model.family import Family, PerTerm, spread
from deepbroad.model.generative import curvature, log_likelihoods, log_priors, partition_weights
from deepbroad.model.loss import LOG_LOSS, Loss
from deepbroad.model.objective import Design, Objective
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import SGD, DualFirst, Solution, Solver
from deepbroad.solvers.solver import Callback

# Look-ups that an iteration of L-BFGS takes for each parameter beside its pass, about.
PARAMETER_LOOKUPS = 20
# Cells whose probabilities are computed at a time: what that takes stays in the cache.
CHUNK = 1 << 16


class Training:
    """One training set under one plan: counts once, then fits.

    Parameters
    ----------
    source : Source
        Rows coded in the plan's groups.
    min_count : float
        Joint values of less weight are as if no row had them.
    counted : tuple of the weights of classes (C,) and of cells (n_cells, C), optional
        Instead of those of these rows: of all rows of a stream, of which these are the last. They
        are the training set's own from now on.
    """

    def __init__(
        self,
        source: Source,
        plan: Plan,
        *,
        smoothing: float,
        dtype: np.dtype,
        threads: Threads,
        min_count: float = 1,
        counted: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.source, self.plan, self.threads = source, plan, threads
        self.smoothing, self.dtype, self.min_count = smoothing, dtype, min_count
        self.class_counts, self.counts = counted or count_cells(source, plan, threads)
        # The cell that rare joint values share is as if no row reached it, and so are rare cells.
        self.counts[plan.terms.shared_cells] = 0.0
        if min_count > 1:
            self.counts[self.counts.sum(axis=1) < min_count] = 0.0

    @property
    def rows(self) -> ArraySource:
        """The rows themselves, which must be in one place."""
        if not isinstance(self.source, ArraySource):
            raise ValueError(
                "Probabilities of this loss need the scores of single rows, which a cluster keeps "
                'to itself: fit with loss="log_loss", or bring the rows together.'
            )
        return self.source

    def reweighted(self, weights: np.ndarray) -> "Training":
        """Return the training set with other weights; rows of weight 0 are as if absent."""
        source = self.rows
        return Training(
            ArraySource(
                source.codes,
                source.labels,
                n_classes=source.n_classes,
                cardinalities=source.cardinalities,
                weights=weights,
                items=source.items,
            ),
            self.plan,
            smoothing=self.smoothing,
            dtype=self.dtype,
            threads=self.threads,
            min_count=self.min_count,
        )

    def hold_out(self, family: Family, seed: int) -> "tuple[Dealing, Training]":
        """Return how a stochastic solver's rows are dealt out, and the counts without the held."""
        n_parameters = len(self.reached) * self.source.n_classes
        dealing = Dealing.of(self.source, self.plan, self.dtype, n_parameters, seed)
        if family.generative and not self.smoothing:
            # Without its held-out rows a joint value may have none of a class, and no logarithm.
            dealing = dealing._replace(held_share=0)
        if not dealing.held_share:
            return dealing, self
        held = self.source.reduce(
            count_held, self.plan, dealing, join=add_counts, threads=self.threads
        )
        # Weights that are no whole numbers may leave a little of a cell that has no other row.
        classes, cells = self.class_counts - held[0], self.counts - held[1]
        for counts, all_of in ((classes, self.class_counts), (cells, self.counts)):
            counts[counts < 1e-9 * all_of] = 0.0
        # Batches are far less exact than single precision.
        rest = Training(
            self.source, self.plan, smoothing=self.smoothing, dtype=np.dtype(np.float32),
            threads=self.threads, min_count=self.min_count,
            counted=(classes, cells.astype(self.counts.dtype)),
        )  # fmt: skip
        return dealing, rest

    @cached_property
    def log_priors(self) -> np.ndarray:
        """Log π, (C,)."""
        return log_priors(self.class_counts, self.smoothing)

    def log_likelihoods(
        self, cells: np.ndarray | None = None, children: np.ndarray | None = None
    ) -> np.ndarray:
        """Log θ of some cells in ascending order, or of all, (n, C), in the dtype of the fit.

        With `children`, a column per term, θ is of its value given the others of the term.
        """
        terms = self.plan.terms
        n_cells = terms.n_cells if cells is None else len(cells)
        if children is not None:
            given = parent_counts(self.plan, self.counts, self.class_counts, children)
            given_spaces = terms.spaces // terms.cardinalities[children]
        found = np.empty((n_cells, self.source.n_classes), self.dtype)

        def fill(first: int, last: int) -> None:
            which = slice(first, last) if cells is None else cells[first:last]
            spaces = terms.spaces_of(which)
            part = log_likelihoods(self.counts[which], self.class_counts, spaces, self.smoothing)
            if children is not None:
                spaces = terms.values_of(given_spaces, which)
                part -= log_likelihoods(given[which], self.class_counts, spaces, self.smoothing)
            found[first:last] = part

        self._by_chunks(n_cells, fill)
        return found

    def _curvature(
        self, reached: np.ndarray, scale: np.ndarray, strength: np.ndarray | float
    ) -> np.ndarray:
        """Return about the diagonal of the Hessian by the parameters of cells, (n_reached, C)."""
        found = np.empty(scale.shape, self.dtype)
        total = float(self.class_counts.sum())

        def fill(first: int, last: int) -> None:
            counts = self.counts[reached[first:last]].astype(np.float64)
            part = strength[first:last] if isinstance(strength, np.ndarray) else strength
            found[first:last] = curvature(counts, scale[first:last], part) / total

        self._by_chunks(len(reached), fill)
        return found

    def _by_chunks(self, length: int, fill: Callable[[int, int], None]) -> None:
        """Run `fill` over ranges of cells, so that what it computes with stays small."""
        chunks = range(0, length, CHUNK)
        self.threads.run([partial(fill, low, min(low + CHUNK, length)) for low in chunks])

    def generative(self, children: np.ndarray | None = None) -> ScoreTables:
        """Return AnJE: log π and log θ / p; with `children` log π and log θ given the parents."""
        scale = self.log_likelihoods(children=children)
        if children is not None:
            return ScoreTables(self.plan, self.log_priors, scale, scale)
        terms = self.plan.terms
        weights = partition_weights(terms).astype(self.dtype)
        alike = (weights == weights[0]).all()
        scores = scale * (weights[0] if alike else terms.per_cell(weights)[:, None])
        return ScoreTables(self.plan, self.log_priors, scores, scale)

    def discriminative(
        self,
        family: Family,
        solver: Solver | DualFirst,
        *,
        callbacks: Sequence[Callback] = (),
        warm: ScoreTables | None = None,
        loss: Loss = LOG_LOSS,
        journal: Journal = NO_JOURNAL,
        dealing: Dealing | None = None,
    ) -> tuple[ScoreTables, Solution]:
        """Return the model that minimises the objective, and how the solver got there.

        A loss that is not convex starts from the solution of a convex one, unless `warm` is given;
        what the solver reports is of the loss itself. Scores are those that minimise it:
        `deepbroad.engine.temperature` makes log odds of those that are none. The `journal` knows
        where to go on. A `dealing` is for calls from here: it goes with a stochastic solver.
        """
        if isinstance(solver, DualFirst):
            # A dual has no point to start from.
            is_new = warm is None and loss is LOG_LOSS and not journal.is_at(loss)
            if is_new and self._favours_newton(family, solver):
                near = find_scores(self.rows, self.plan, family.strength, self.threads)
                warm = self.scored(family, *near)
            elif is_new and self._favours_dual():
                found, is_end = self._by_dual(family, solver, callbacks, journal)
                if found is not None and is_end:
                    return found
                warm = None if found is None else found[0]
            return self.discriminative(
                family, solver.otherwise, callbacks=callbacks, warm=warm, loss=loss, journal=journal
            )
        if isinstance(solver, SGD) and dealing is None:
            dealing, rest = self.hold_out(family, solver.seed)
            return rest.discriminative(
                family, solver, callbacks=callbacks, warm=warm, loss=loss, journal=journal,
                dealing=dealing,
            )  # fmt: skip
        if loss.from_target:
            family = replace(family, start=family.target)
        reached = self.reached
        design = self.design(family)
        total = float(self.class_counts.sum())
        run_pass: LossPass | BatchPass
        objective: Objective
        if dealing is not None:
            known = self.pass_design(family, design)
            run_pass = BatchPass(self.source, known, dealing, self.threads)
            objective = BatchObjective(design, run_pass, total, self.threads)
        else:
            run_pass = self.loss_pass(family, design, exact=solver.tol < EXACT_TOL)
            objective = Objective(design, run_pass, total, self.threads)
        points = [self._first_point(objective, warm, is_free=family.by_score and dealing is None)]
        for stage in journal.remaining(loss.stages if warm is None else [loss]):
            run_pass.loss = stage
            solution = solver.minimise(
                objective,
                points.pop(),
                curvature=objective.curvature,
                callbacks=journal.watch(stage, self.plan.terms, callbacks),
                threads=self.threads,
                state=journal.state(stage, solver, self.plan.terms, reached),
            )
            if stage is not loss and solution.status in ("stopped", "interrupted"):
                run_pass.loss = loss
                solution = ended_early(solution, objective(solution.u)[0])
                break
            points.append(solution.u)
        del run_pass, objective  # their tables are as large as the model
        return self._finish(family, design, solution)

    def _first_point(
        self, objective: Objective, warm: ScoreTables | None, *, is_free: bool
    ) -> np.ndarray:
        """Return where a solver starts: from a model, or from the lower start if it is free to."""
        if warm is not None:
            return objective.point_of(warm.class_scores, warm.scores[self.reached])
        return objective.lower_start if is_free else objective.start

    def _favours_newton(self, family: Family, solver: DualFirst) -> bool:
        """Tell by counts whether Newton's method finds a start in the room that solvers have.

        That is for models whose scores are pulled to 0, with many parameters for their rows. The
        fewest rows have a start in their own space, by their dual.
        """
        source = self.source
        if not isinstance(source, ArraySource) or self.plan.items is not None:
            return False
        is_plain = family.by_score and family.children is None and not np.any(family.target)
        if not is_plain or self.min_count > 1 or len(self.plan.terms.shared_cells):
            return False
        n_reached = len(self.reached)
        room = solver.room(n_reached * source.n_classes)
        return source.n_rows > FEW_ROWS and newton_bytes(source, n_reached) <= room

    def _favours_dual(self) -> bool:
        """Tell by counts whether sweeps row by row take less time than passes by fused tables.

        A sweep looks up every term; a pass looks up fused tables, and then moves parameters.
        """
        parameters = len(self.reached) * self.source.n_classes
        spared = len(self.plan.terms) - self.plan.n_tables
        return self.source.n_rows * spared <= PARAMETER_LOOKUPS * parameters

    def _by_dual(
        self, family: Family, solver: DualFirst, callbacks: Sequence[Callback], journal: Journal
    ) -> tuple[tuple[ScoreTables, Solution] | None, bool]:
        """Return what dual ascent comes to, and whether that is the end.

        If not, there is a model if it is better than what a solver would start from.
        """
        design = self.design(family)
        dual = self.dual(family, design, solver.room(design.scale.size))
        if dual is None:
            return None, False
        total = float(self.class_counts.sum())
        objective = Objective(design, self.loss_pass(family, design), total, self.threads)
        solution, is_end = fit_by_dual(
            dual, objective, family.strength, solver, terms=self.plan.terms, reached=self.reached,
            callbacks=callbacks, journal=journal,
        )  # fmt: skip
        is_better = is_end or (solution.n_iter and solution.loss < objective(objective.start)[0])
        del dual, objective
        return (self._finish(family, design, solution) if is_better else None), is_end

    def _finish(
        self, family: Family, design: Design, solution: Solution
    ) -> tuple[ScoreTables, Solution]:
        """Return the model of a solution."""
        reached, scale = self.reached, design.scale
        n_classes = len(design.class_scale)
        classes, cells = solution.u[:n_classes], solution.u[n_classes:].reshape(-1, n_classes)
        scores = self._fixed_scores(family)
        for low in range(0, len(reached), CHUNK):
            part = slice(low, low + CHUNK)
            scores[reached[part]] = scale[part] * cells[part]
        full_scale = self._full_scale(family, reached, scale) if family.generative else None
        return ScoreTables(self.plan, classes * design.class_scale, scores, full_scale), solution

    def dual(self, family: Family, design: Design, room: float) -> RowDual | None:
        """Return the dual of the objective, None if there is none in `room` bytes or it is slow."""
        source, plan = self.source, self.plan
        if not isinstance(source, ArraySource) or plan.items is not None:
            return None
        # One strength for all classes of a cell, and a cell for every value of every row.
        penalised = family.by_score or not family.generative
        if not penalised or self.min_count > 1:
            return None
        counted = plan.terms.values_of(plan.terms.spaces, self.reached) > 1
        if not design.scale[counted].all():
            return None
        # Steps are taken row by row: neither order nor repetition of rows is to change them.
        source = sort_rows(source)
        way = plan_dual(source, plan, design.scale.size, self.dtype, room)
        return (
            None if way is None else RowDual(source, plan, self.reached, design, way, self.threads)
        )

    def scored(self, family: Family, class_scores: np.ndarray, scores: np.ndarray) -> ScoreTables:
        """Return the model with given scores of the cells that rows reach; the others are fixed."""
        full, full_scale = self._fixed_scores(family), None
        full[self.reached] = scores[self.reached]
        if family.generative:
            scale = self.log_likelihoods(self.reached, family.children)
            full_scale = self._full_scale(family, self.reached, scale)
        return ScoreTables(self.plan, class_scores, full, full_scale)

    def loss_pass(
        self, family: Family, design: Design, source: Source | None = None, *, exact: bool = False
    ) -> LossPass:
        """Return the pass over these rows, or over others in the plan's groups."""
        known = self.pass_design(family, design)._replace(exact=exact)
        return LossPass(self.source if source is None else source, known, self.threads)

    def pass_design(self, family: Family, design: Design) -> PassDesign:
        """Return what a pass needs to know beside the rows."""
        return PassDesign(
            self.plan,
            self.reached,
            design.scale,
            self._fixed_scores(family) if np.any(self._fixed_weights(family)) else None,
            self.dtype,
        )

    def design(self, family: Family) -> Design:
        """Return scale, start, target and strength of the cells that rows reach."""
        terms, n_classes = self.plan.terms, self.source.n_classes
        weights = self._weights(family)
        scale = np.ones((len(self.reached), n_classes), self.dtype)
        if family.generative:
            scale = self.log_likelihoods(self.reached, family.children)
        class_scale = self.log_priors if family.generative else np.ones(n_classes)
        class_curvature = curvature(self.class_counts, class_scale, 0.0)
        return self.redesign(
            family,
            Design(
                scale=scale,
                start=spread(family.start * weights, terms, self.reached),
                target=spread(family.target * weights, terms, self.reached),
                strength=0.0,
                class_scale=class_scale,
                class_start=np.full(n_classes, 1.0 if family.generative else 0.0),
                class_curvature=class_curvature / float(self.class_counts.sum()),
            ),
        )

    def redesign(self, family: Family, design: Design) -> Design:
        """Return a design with the strengths of a family, and the curvature that they give."""
        strength = spread(family.strength, self.plan.terms, self.reached)
        if family.by_score and family.generative:
            strength = strength * design.scale.astype(np.float64) ** 2
        found = self._curvature(self.reached, design.scale, strength)
        return replace(design, strength=strength, curvature=found)

    def _weights(self, family: Family) -> PerTerm:
        """Return the weights of the generative model; one number where terms are all alike."""
        if not family.generative:
            return 0.0
        if family.children is not None:
            return 1.0
        weights = partition_weights(self.plan.terms)
        return float(weights[0]) if (weights == weights[0]).all() else weights

    @cached_property
    def reached(self) -> np.ndarray:
        """The cells that some training row reaches, in the smaller integers if they fit."""
        reached = np.flatnonzero(self.counts.any(axis=1))
        return reached.astype(np.int32 if len(self.counts) < 2**31 else np.int64)

    def _fixed_weights(self, family: Family) -> PerTerm:
        """Return t of the cells that no training row reaches, by term."""
        return family.fixed_target(self.plan.terms) * self._weights(family)

    def _fixed_scores(self, family: Family) -> np.ndarray:
        """Return the scores s·t of the cells that no training row reaches, 0 elsewhere."""
        scores = np.zeros(self.counts.shape, self.dtype)
        target = self._fixed_weights(family)
        if np.any(target):
            unreached = np.flatnonzero(~self.counts.any(axis=1))
            weights = np.asarray(spread(target, self.plan.terms, unreached), self.dtype)
            scores[unreached] = weights * self.log_likelihoods(unreached, family.children)
        return scores

    def _full_scale(self, family: Family, reached: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return log θ of every cell; 0 for unreached ones without smoothing, where θ is 0."""
        if self.smoothing:
            return self.log_likelihoods(children=family.children)
        full = np.zeros(self.counts.shape, self.dtype)
        full[reached] = scale
        return full


def ended_early(solution: Solution, loss: float) -> Solution:
    """Return what a fit that was stopped before it came to its own loss has reached by that."""
    return Solution(solution.u, loss, solution.status, 0, [loss], [loss])
