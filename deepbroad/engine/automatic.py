"""The automatic choice: how deep a model goes, and how strongly its scores are held down.

Models of one order after the other, all lower ones included, are judged by their loss on held-out
rows; their strengths are searched for, each search starting where the one before ended.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import comb, inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.caution import find_caution
from deepbroad.engine.choice import Choice
from deepbroad.engine.estimate import estimate_fit, refuse
from deepbroad.engine.evidence_trial import is_sparse, try_evidence
from deepbroad.engine.footprint import Footprint
from deepbroad.engine.listing import has_many_terms, list_terms
from deepbroad.engine.planning import Planner
from deepbroad.engine.provision import SHORT_HISTORY
from deepbroad.engine.redundancy import CERTAIN_ROWS, find_redundant, list_lean
from deepbroad.engine.refinement import find_factor
from deepbroad.engine.shortlist import draw_shortlist
from deepbroad.engine.strength_search import StrengthSearch, Trial, deepen
from deepbroad.engine.validation import ROOM, Validation, draw_folds
from deepbroad.engine.workload import Workload, count_reached
from deepbroad.kernels.threads import Threads
from deepbroad.model.cost import TYPICAL
from deepbroad.model.family import Family
from deepbroad.model.plan import Plan
from deepbroad.model.resolutions import LevelledTerms, Resolutions
from deepbroad.model.strengths import Strengths
from deepbroad.solvers import LBFGS

logger = logging.getLogger("deepbroad")

# Depths that are tried where none is given.
DEPTHS = (1, 2, 3)
# Rows that the choice looks at; `refinement` carries what it finds over to more.
MAX_ROWS = 30_000
# Rows that the refinement looks at where they are not in memory, and vectors of their length that
# it takes.
MAX_REFINED = 1_000_000
ROW_VECTORS = 6
# Of the memory limit, for what dual ascent keeps of the rows of folds.
SHARE_OF_ROOM = 0.25
# Where the searches start: how strengths grow by level (bins half as wide hold half of the
# variance).
GROWTH = 2.0
# Trials at most, by depth.
MOST_TRIALS = (12, 20, 12)
# Trials and passes of each that a depth is given time for before it is begun.
EXPECTED_PASSES = 8 * 25
# Seconds of these passes at typical costs, up to which fits are precise: longer ones would leave
# strengths untried (pendigits). Coarse ones tell strengths apart less well
# (segment, letter).
PRECISE_SECONDS = 6.0
# Share by which a deeper model must be better to be worth its tables, and for the next to be tried.
WORTH = 1e-3
# Share by which cells that score by their counts must be better.
WORTH_COUNTING = 0.01
PROMISE = 0.05
# Tuples of a shortlist for each attribute; the next is tried where there is no time for the first.
# One that has more than this share of all tuples is none. In no more rows than these, for pairs and
# for deeper tuples, what looks telling is chance (musk1, segment): all folds but the first hold out
# rows that it is drawn by, and above 3,000 there is but one.
SHORTLISTS = (2.0, 0.5)
MOST_SHORTLISTED = 0.5
SHORTLIST_ROWS = (1_000, 3_000)


class _Found(NamedTuple):
    """What a search at one depth found, with which tuples."""

    search: StrengthSearch
    trial: Trial
    levelled: LevelledTerms
    validation: Validation
    shortlists: dict[int, np.ndarray]
    lean: dict[int, np.ndarray]

    def gain_over(self, other: "_Found | None") -> float:
        """Return by which share its loss is lower."""
        return inf if other is None else 1.0 - self.trial.loss / max(other.trial.loss, 1e-12)


class Automatic:
    """Chooses a model for a source.

    Parameters
    ----------
    source : Source
        Rows of code columns, identical ones not merged.
    family : Family
        Start and target; strengths are chosen.
    depths : sequence of int
        Depths to try, ascending.
    least : int
        Shallower ones are none to choose: they tell where the strengths of lower orders lie.
    exact : bool
        Whether models have tuples of their depth alone, instead of all orders up to it.
    among : mapping from order to ndarray
        The tuples of attributes of those orders that are not to have all.
    counts : bool
        Whether cells may score by their counts, where that is better.
    memory_limit : float
        Bytes that the final fit may take.
    time_limit : float
        Seconds after which nothing new is tried.
    history : int
        Pairs that the solver of the final fit remembers.
    """

    def __init__(
        self,
        source: Source,
        family: Family,
        *,
        depths: Sequence[int],
        least: int = 1,
        exact: bool = False,
        among: Mapping[int, np.ndarray] | None = None,
        counts: bool = False,
        smoothing: float,
        min_count: float,
        memory_limit: float,
        time_limit: float,
        history: int,
        seed: int,
        threads: Threads,
    ) -> None:
        self.source, self.family, self.threads = source, family, threads
        self.exact, self.among, self.counts = exact, among, counts
        self.smoothing, self.min_count = smoothing, min_count
        self.memory_limit, self.history = memory_limit, history
        self.time_limit, self.seed = time_limit, seed
        self.deadline = perf_counter() + time_limit
        self.resolutions = Resolutions(source.attributes, source.cardinalities)
        self.depths = [depth for depth in depths if depth <= self.resolutions.n_attributes]
        self.least = min(least, self.depths[-1])
        random = np.random.default_rng(seed)
        self.sample = source.draw(MAX_ROWS, random)
        self.held = draw_folds(self.sample, random)

    def choose(self) -> Choice:
        """Try the depths one after the other, and return the best model."""
        best: _Found | None = None
        trials: list[Trial] = []
        skipped: dict[int, str] = {}
        is_cut_short = False
        strengths = Strengths((), GROWTH)
        shortlists: dict[int, np.ndarray] = {}
        if self.least > self.depths[0]:
            # Refuses at once what would not fit, and not after the search at lower depths.
            self._list(self.least, self._lean(self.least, {}), min(self.history, SHORT_HISTORY))
        for depth in self.depths:
            is_first = depth == self.depths[0]
            found = self._search(
                depth, strengths, shortlists, forced=is_first or depth == self.least
            )
            if isinstance(found, str) and depth < self.least:
                continue
            if isinstance(found, str):
                found = self._search_shortlist(depth, strengths, shortlists) or found
            if isinstance(found, str):
                skipped |= {deeper: found for deeper in self.depths if deeper >= depth}
                break
            trial, shortlists = found.trial, found.shortlists
            trials += found.search.trials
            is_cut_short |= found.search.is_cut_short
            logger.info("n=%d: held-out loss %.5f, %s", depth, trial.loss, trial.strengths)
            strengths = trial.strengths
            if depth < self.least:
                continue
            gain = found.gain_over(best)
            if gain > WORTH:
                best = found
            if gain < PROMISE:
                reason = f"n={depth} gained {gain:.1%}"
                skipped |= {deeper: reason for deeper in self.depths if deeper > depth}
                break
        if best is None:
            raise AssertionError("the first depth is always tried")
        counted = self._count(best, trials)
        is_cut_short |= counted == "time"
        if isinstance(counted, Choice):
            skipped = {depth: why for depth, why in skipped.items() if depth > counted.best.depth}
            return replace(counted, skipped=skipped, is_cut_short=is_cut_short)
        strength = self._strength(best.trial, best.levelled, best.validation)
        factor = find_caution(best.validation, strength, best.trial.loss, self.deadline)
        factor *= self._refine(best.levelled, strength)
        return Choice(
            best.levelled,
            strength * factor,
            best.trial,
            trials,
            skipped,
            factor,
            is_cut_short,
            best.shortlists | best.lean,
            self._count_left_out(best.lean),
        )

    def _count(self, best: _Found, trials: list[Trial]) -> Choice | str:
        """Return the model whose cells score by their counts, or why it is not taken.

        If it is tried, that is added to the trials.
        """
        depth = max(self.depths)
        if not self.counts or self.exact or self.among is not None or depth == 1:
            return "not asked for"
        if self.sample.n_rows <= CERTAIN_ROWS or self.min_count > 1:
            return "rows"
        while depth > 1 and has_many_terms(self.source, depth):
            depth -= 1
        lean = self._lean(depth, {})
        try:
            levelled = self._list(depth, lean, self.history)
        except MemoryError:
            return "memory"
        room = min(ROOM, SHARE_OF_ROOM * self.memory_limit)
        if not is_sparse(self.source, levelled.terms, room):
            return "rows"
        strengths = deepen(best.trial.strengths, levelled, depth)
        trial = try_evidence(
            self.sample,
            levelled.terms,
            self.family.shared_out(levelled.shares, 0.0),
            self.held,
            strengths,
            smoothing=self.smoothing,
            deadline=self.deadline,
            seed=self.seed,
            threads=self.threads,
        )
        if isinstance(trial, str):
            return trial
        trials.append(trial)
        if trial.loss > best.trial.loss * (1.0 - WORTH_COUNTING):
            return "loss"
        strength = strengths.per_term(levelled)
        left_out = self._count_left_out(lean)
        return Choice(levelled, strength, trial, trials, among=lean, redundant=left_out)

    def _count_left_out(self, lean: dict[int, np.ndarray]) -> dict[int, int]:
        """Return how many tuples of each order were left out."""
        return {k: comb(self.resolutions.n_attributes, k) - len(lean[k]) for k in lean}

    def _search_shortlist(
        self, depth: int, strengths: Strengths, shortlists: dict[int, np.ndarray]
    ) -> _Found | None:
        """Return what is found with the most telling tuples of a depth, if there is time."""
        attributes = self.resolutions.n_attributes
        rows = SHORTLIST_ROWS[0 if depth <= 2 else 1]
        if self.among is not None or self.sample.n_rows <= rows:
            return None
        for per_attribute in SHORTLISTS:
            count = int(per_attribute * attributes)
            is_short = 0 < count <= MOST_SHORTLISTED * comb(attributes, depth)
            if not is_short or perf_counter() > self.deadline:
                return None
            tuples = draw_shortlist(self.sample, self.held[0], depth, count, self.threads)
            if not len(tuples):
                return None
            found = self._search(depth, strengths, shortlists | {depth: tuples})
            if isinstance(found, _Found):
                return found
        return None

    def _refine(self, levelled: LevelledTerms, strength: np.ndarray) -> float:
        """Return what strengths are to be multiplied by for all rows, if only some were looked at.

        That may take as long again as the choice itself.
        """
        if self.sample.n_rows == self.source.n_weighted:
            return 1.0
        source = self.source
        if not isinstance(source, ArraySource) or not source.resident:
            per_row = 8.0 * ROW_VECTORS + len(source.cardinalities)
            count = min(MAX_REFINED, int(self.memory_limit / 4 / per_row))
            source = source.draw(max(count, MAX_ROWS), np.random.default_rng(self.seed))
        return find_factor(
            source,
            levelled.terms,
            self.family.shared_out(levelled.shares, 0.0),
            strength,
            smoothing=self.smoothing,
            min_count=self.min_count,
            deadline=perf_counter() + self.time_limit,
            random=np.random.default_rng(self.seed),
            threads=self.threads,
        )

    def _search(
        self,
        depth: int,
        start: Strengths,
        shortlists: dict[int, np.ndarray],
        *,
        forced: bool = False,
    ) -> _Found | str:
        """Return what a search at a depth found, or why it was not begun."""
        if not forced and depth not in shortlists and has_many_terms(self.source, depth):
            return "too many tuples"
        lean = self._lean(depth, shortlists)
        if not forced and depth in lean and not len(lean[depth]):
            return "no tuple tells more than its parts"
        try:
            # One that was asked for may do with a shorter history.
            history = min(self.history, SHORT_HISTORY) if forced else self.history
            levelled = self._list(depth, shortlists | lean, history)
        except MemoryError:
            if forced:
                raise
            return "memory"
        start = deepen(start, levelled, depth)
        planner = Planner(
            self.sample, levelled.terms, min_count=self.min_count, threads=self.threads
        )
        plan = planner.cheapest()
        estimate = estimate_fit(
            self.sample, plan, history=self.history, n_threads=self.threads.count
        )
        needed = EXPECTED_PASSES * len(self.held) * estimate.seconds_per_pass
        if not forced and perf_counter() + needed > self.deadline:
            return "time"
        validation = Validation(
            self.sample,
            plan,
            self.family.shared_out(levelled.shares, 0.0),
            self.held,
            smoothing=self.smoothing,
            min_count=self.min_count,
            threads=self.threads,
            room=min(ROOM, SHARE_OF_ROOM * self.memory_limit),
        )
        if depth == self.depths[0]:
            # The first passes of all may have kernels to compile, which is no part of a choice.
            validation.loss(start.per_term(levelled), LBFGS(max_iter=1))
            self.deadline = perf_counter() + self.time_limit
        most = MOST_TRIALS[min(depth, len(MOST_TRIALS)) - 1]
        search = StrengthSearch(
            validation,
            levelled,
            most=most,
            deadline=self.deadline,
            rows=self.source.n_weighted,
            precise=self._is_cheap(plan),
        )
        return _Found(search, search.run(start), levelled, validation, shortlists, lean)

    def _is_cheap(self, plan: Plan) -> bool:
        """Tell whether there is time for precise fits: by counts, so on any machine the same."""
        each = Workload.of(self.sample, plan, solved=True).seconds(TYPICAL, 1)
        return EXPECTED_PASSES * len(self.held) * each <= PRECISE_SECONDS

    def _lean(self, depth: int, shortlists: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the tuples of those orders of which some tell no more than their parts.

        Models without all lower orders need these all the same.
        """
        is_given = self.exact or self.among is not None
        few = self.sample.n_rows <= CERTAIN_ROWS
        if is_given or few or depth == 1 or has_many_terms(self.source, depth):
            return {}
        orders = [order for order in range(2, depth + 1) if order not in shortlists]
        lean = {order: list_lean(self._redundant, order) for order in orders}
        attributes = self.resolutions.n_attributes
        return {k: tuples for k, tuples in lean.items() if len(tuples) < comb(attributes, k)}

    @cached_property
    def _redundant(self) -> np.ndarray:
        return find_redundant(self.sample)

    def _list(self, depth: int, among: dict[int, np.ndarray], history: int) -> LevelledTerms:
        """Return the terms of a depth; MemoryError if no fit of so many would fit."""
        limit = self.memory_limit
        chosen = among or self.among
        levelled = list_terms(self.source, depth, exact=self.exact, among=chosen, limit=limit)
        reached = count_reached(self.source, levelled.terms)
        needed = Footprint.bare(self.source, levelled.terms, reached).total(history)
        # Single attributes are for the provision of the fit to judge: nothing is less.
        if depth > 1 and needed > limit:
            raise refuse(needed, int(limit), {})
        return levelled

    @staticmethod
    def _strength(trial: Trial, levelled: LevelledTerms, validation: Validation) -> np.ndarray:
        """Return the strengths of a trial by term; adapted ones follow the mean of its folds."""
        strength = trial.strengths.per_term(levelled)
        variances = np.mean([fold.variances() for fold in validation.folds], axis=0)
        return strength * trial.adaptation.factors(variances, levelled.terms.orders)
