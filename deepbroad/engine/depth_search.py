"""The search at one depth of the automatic choice: its terms, its time, its strengths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.dual import USUAL_ITERATIONS, plan_dual
from deepbroad.engine.estimate import estimate_fit, refuse
from deepbroad.engine.footprint import Footprint
from deepbroad.engine.gram import plan_gram, search_seconds
from deepbroad.engine.listing import has_many_terms, list_terms
from deepbroad.engine.passes import pass_dtype
from deepbroad.engine.planning import Planner
from deepbroad.engine.provision import SHORT_HISTORY
from deepbroad.engine.redundancy import CERTAIN_ROWS, find_redundant, list_lean
from deepbroad.engine.strength_search import StrengthSearch, Trial, deepen
from deepbroad.engine.validation import ROOM, Validation
from deepbroad.engine.workload import Workload, count_reached
from deepbroad.kernels.threads import Threads
from deepbroad.model.cost import TYPICAL
from deepbroad.model.family import Family
from deepbroad.model.plan import Plan
from deepbroad.model.resolutions import LevelledTerms, Resolutions
from deepbroad.model.strengths import Strengths
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS

# Of the memory limit, for what dual ascent keeps of the rows of folds.
SHARE_OF_ROOM = 0.25
# Trials at most, by depth.
MOST_TRIALS = (12, 20, 12)
# Trials and passes of each that a depth is given time for before it is begun. Tilings need fewer
# trials to be better than what they are compared with, and sweeps of a dual take the place of
# passes.
EXPECTED_PASSES = 8 * 25
EXPECTED_SWEEPS = 4 * 10
# Seconds of these passes at typical costs, up to which fits are precise: longer ones would leave
# strengths untried (pendigits). Coarse ones tell strengths apart less well (segment, letter).
PRECISE_SECONDS = 6.0
# Seconds of one thread, at typical costs, that a search in the space of rows may take: what deeper
# tuples of few rows gain by more is little (splice, spambase). Of one thread, so that the number of
# threads changes no model.
MOST_BY_ROWS = 40.0
# Where the search begins for tilings: the strength of one, if it had no copies.
TILED_STRENGTH = 3.0


@dataclass(frozen=True, eq=False)
class Tuples:
    """Which tuples of attributes a depth has, where it does not have all.

    Attributes
    ----------
    shortlists : dict from order to ndarray
        Those of an order that tell most.
    lean : dict from order to ndarray
        Those of an order that tell more than their parts.
    tiled : ndarray of shape (m, order) or None
        Those of the deepest order that are tilings (`deepbroad.model.tiling`); it has no others.
    """

    shortlists: dict[int, np.ndarray] = field(default_factory=dict)
    lean: dict[int, np.ndarray] = field(default_factory=dict)
    tiled: np.ndarray | None = None

    @property
    def among(self) -> dict[int, np.ndarray]:
        """The tuples of those orders that do not have all, but for those that are tiled."""
        return self.shortlists | self.lean


class Found(NamedTuple):
    """What a search at one depth found, with which tuples."""

    search: StrengthSearch
    trial: Trial
    levelled: LevelledTerms
    validation: Validation
    tuples: Tuples

    def gain_over(self, other: "Found | None") -> float:
        """Return by which share its loss is lower."""
        return inf if other is None else 1.0 - self.trial.loss / max(other.trial.loss, 1e-12)

    @property
    def strength(self) -> np.ndarray:
        """The strengths of its best trial by term; adapted ones follow the mean of its folds."""
        return strength_of(self.trial, self.levelled, self.validation)


@dataclass(eq=False)
class DepthSearch:
    """Searches for strengths at one depth after the other.

    Parameters
    ----------
    source, family, exact, among, smoothing, min_count, memory_limit, history, threads
        As for `deepbroad.engine.automatic.Automatic`.
    sample : ArraySource
        The rows of the source that are looked at.
    held : sequence of integer arrays
        Those of them that each fold holds out.
    time_limit : float
        Seconds from the first fit on, after which nothing new is tried.
    n_folds : int
        Folds that time is planned for. There may be fewer of them, but what more time for each
        would allow, all tuples of wide tables, is not better (optdigits).
    """

    source: Source
    sample: ArraySource
    held: Sequence[np.ndarray]
    family: Family
    exact: bool
    among: Mapping[int, np.ndarray] | None
    smoothing: float
    min_count: float
    memory_limit: float
    time_limit: float
    history: int
    n_folds: int
    threads: Threads

    def __post_init__(self) -> None:
        self.deadline = perf_counter() + self.time_limit
        self.resolutions = Resolutions(self.source.attributes, self.source.cardinalities)
        self._has_begun = False
        # Whether the clock, or an estimate of seconds, kept anything from being tried.
        self.is_cut_short = False

    def go_on_from(self, other: "DepthSearch") -> None:
        """Share the time that another search has begun to take, and what it was kept from."""
        self.deadline, self._has_begun = other.deadline, other._has_begun
        self.is_cut_short |= other.is_cut_short

    @property
    def room(self) -> float:
        """Bytes that fits of folds may compute with."""
        return min(ROOM, SHARE_OF_ROOM * self.memory_limit)

    @property
    def is_late(self) -> bool:
        """Whether nothing new is to be tried; that it was so is kept in `is_cut_short`."""
        late = perf_counter() > self.deadline
        self.is_cut_short |= late
        return late

    def run(
        self,
        depth: int,
        start: Strengths,
        shortlists: dict[int, np.ndarray],
        *,
        tiled: np.ndarray | None = None,
        forced: bool = False,
        glances: bool = False,
        reserve: float = 0.0,
    ) -> Found | str:
        """Return what a search at a depth found, or why it was not begun.

        It leaves `reserve` seconds to those that follow. One that `glances` has a single trial, and
        is not begun where that would take long.
        """
        is_chosen = depth in shortlists or tiled is not None
        if not forced and not is_chosen and has_many_terms(self.source, depth):
            return "too many tuples"
        lean = self.list_lean(depth if tiled is None else depth - 1, shortlists)
        if not forced and depth in lean and not len(lean[depth]):
            return "no tuple tells more than its parts"
        tuples = Tuples(shortlists, lean, tiled)
        try:
            # One that was asked for may do with a shorter history.
            history = min(self.history, SHORT_HISTORY) if forced else self.history
            levelled = self.list_terms(depth, tuples, history)
        except MemoryError:
            if forced:
                raise
            return "memory"
        if tiled is not None:
            start = start.deeper(TILED_STRENGTH / start.growth ** float(levelled.levels[-1] - 1))
        start = deepen(start, levelled, depth)
        planner = Planner(
            self.sample, self.in_sample(levelled.terms), min_count=self.min_count,
            threads=self.threads,
        )  # fmt: skip
        plan = planner.cheapest()
        is_cheap = self._is_cheap(plan)
        if glances and not is_cheap:
            return "passes"
        if not forced and (reason := self._find_delay(plan, levelled, by_dual=tiled is not None)):
            self.is_cut_short |= reason == "time"
            return reason
        validation = self._validate(plan, levelled)
        if not self._has_begun:
            # The first passes of all may have kernels to compile, which is no part of a choice.
            validation.loss(start.per_term(levelled), LBFGS(max_iter=1))
            self.deadline = perf_counter() + self.time_limit
            self._has_begun = True
        search = StrengthSearch(
            validation,
            levelled,
            most=1 if glances else MOST_TRIALS[min(depth, len(MOST_TRIALS)) - 1],
            deadline=self.deadline - reserve,
            rows=self.source.n_weighted,
            precise=is_cheap,
            tiled=tiled is not None,
        )
        trial = search.adapt(search.run(start))
        return Found(search, trial, levelled, validation, tuples)

    def _validate(self, plan: Plan, levelled: LevelledTerms) -> Validation:
        return Validation(
            self.sample,
            plan,
            self.family.shared_out(levelled.shares, 0.0),
            self.held,
            smoothing=self.smoothing,
            min_count=self.min_count,
            threads=self.threads,
            kinds=levelled.kinds,
            room=self.room,
        )

    def _find_delay(self, plan: Plan, levelled: LevelledTerms, *, by_dual: bool) -> str:
        """Return why there is no time for some trials, "" if there is.

        "time" is for what the clock decides; other reasons are the same whenever a fit is made.
        Dual ascent makes trials of tilings shorter. With all tuples of a depth it may take longer
        than is thought, and then the most telling ones would have been the better choice
        (waveform-5000).
        """
        if plan_gram(self.sample, plan, levelled.kinds, self.room):
            needed = search_seconds(
                self.sample, plan, folds=self.n_folds, room=self.room,
                n_threads=1,
            )  # fmt: skip
            if needed > MOST_BY_ROWS:
                return "too many pairs of rows"
            late = perf_counter() + needed / self.threads.count > self.deadline
            return "time" if late else ""
        estimate = estimate_fit(
            self.sample, plan, history=self.history, n_threads=self.threads.count
        )
        passes = self._count_passes(plan) if by_dual else float(EXPECTED_PASSES)
        needed = passes * self.n_folds * estimate.seconds_per_pass
        return "" if perf_counter() + needed <= self.deadline else "time"

    def _count_passes(self, plan: Plan) -> float:
        """Return how many passes a few trials by dual ascent take as long as."""
        parameters = int(Workload.of(self.sample, plan, solved=True).parameters)
        dtype = pass_dtype(plan, self.sample.n_rows)
        way = plan_dual(self.sample, plan, parameters, dtype, self.room / len(self.held))
        if way is None:
            return float(EXPECTED_PASSES)
        # As many sweeps as it may take at most are as long as the usual passes.
        return min(float(EXPECTED_PASSES), EXPECTED_SWEEPS * USUAL_ITERATIONS / way.most)

    def _is_cheap(self, plan: Plan) -> bool:
        """Tell whether there is time for precise fits: by counts, so on any machine the same."""
        each = Workload.of(self.sample, plan, solved=True).seconds(TYPICAL, 1)
        return EXPECTED_PASSES * self.n_folds * each <= PRECISE_SECONDS

    def list_lean(self, depth: int, shortlists: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the tuples of those orders of which some tell no more than their parts.

        Models without all lower orders need these all the same.
        """
        is_given = self.exact or self.among is not None
        few = self.sample.n_rows <= CERTAIN_ROWS
        if is_given or few or depth == 1 or has_many_terms(self.source, depth):
            return {}
        orders = [order for order in range(2, depth + 1) if order not in shortlists]
        lean = {order: list_lean(self.redundant, order) for order in orders}
        attributes = self.resolutions.n_attributes
        return {k: tuples for k, tuples in lean.items() if len(tuples) < comb(attributes, k)}

    @cached_property
    def redundant(self) -> np.ndarray:
        """Which pairs of attributes tell no more than their parts, (a, a)."""
        return find_redundant(self.sample)

    def list_terms(self, depth: int, tuples: Tuples, history: int) -> LevelledTerms:
        """Return the terms of a depth; MemoryError if no fit of so many would fit."""
        limit = self.memory_limit
        levelled = list_terms(
            self.source,
            depth,
            exact=self.exact,
            among=tuples.among or self.among,
            tiled=tuples.tiled,
            limit=limit,
        )
        reached = count_reached(self.source, levelled.terms)
        needed = Footprint.bare(self.source, levelled.terms, reached).total(history)
        # Single attributes are for the provision of the fit to judge: nothing is less.
        if depth > 1 and needed > limit:
            raise refuse(needed, int(limit), {})
        return levelled

    def check_memory(self, depth: int) -> None:
        """Raise MemoryError if no fit of a depth that was asked for would fit."""
        lean = self.list_lean(depth, {})
        # One that was asked for may do with a shorter history.
        self.list_terms(depth, Tuples(lean=lean), min(self.history, SHORT_HISTORY))

    def in_sample(self, terms: Terms) -> Terms:
        """Return terms of the source as those of the sample, whose cuts by the class are others."""
        return Terms(terms.members, self.sample.cardinalities)


def strength_of(trial: Trial, levelled: LevelledTerms, validation: Validation) -> np.ndarray:
    """Return the strengths of a trial by term; adapted ones follow the mean of its folds."""
    strength = trial.strengths.per_term(levelled)
    variances = np.mean([fold.variances() for fold in validation.folds], axis=0)
    return strength * trial.adaptation.factors(variances, levelled.terms.orders)
