"""The automatic choice: how deep a model goes, and how strongly its scores are held down.

Models of one order after the other, all lower ones included, are judged by their loss on held-out
rows; their strengths are searched for, each search starting where the one before ended.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import comb
from time import perf_counter

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.caution import find_caution
from deepbroad.engine.old_choice import Choice
from deepbroad.engine.copies import merge_copies
from deepbroad.engine.depth_search import DepthSearch, Found, Tuples
from deepbroad.engine.evidence_trial import is_sparse, try_evidence
from deepbroad.engine.listing import has_many_terms
from deepbroad.engine.redundancy import CERTAIN_ROWS
from deepbroad.engine.refinement import find_factor
from deepbroad.engine.shortlist import draw_shortlist
from deepbroad.engine.strength_search import Trial, deepen
from deepbroad.engine.tiled_search import TILED_ORDER, can_tile, search_tilings
from deepbroad.engine.validation import draw_folds
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.resolutions import LevelledTerms
from deepbroad.model.strengths import Strengths

logger = logging.getLogger("deepbroad")

# Depths that are tried where none is given.
DEPTHS = (1, 2, 3)
# Rows that the choice looks at; `refinement` carries what it finds over to more.
MAX_ROWS = 30_000
# Rows that the refinement looks at where they are not in memory, and vectors of their length that
# it takes.
MAX_REFINED = 1_000_000
ROW_VECTORS = 6
# Where the searches start: how strengths grow by level (bins half as wide hold half of the
# variance).
GROWTH = 2.0
# Share by which a deeper model must be better to be worth its tables, and for the next to be tried.
WORTH = 1e-3
# Share by which cells that score by their counts must be better.
WORTH_COUNTING = 0.01
PROMISE = 0.05
# The strength of the order that a glance at the next depth is for: weak enough for a few dozen rows
# of a cell to tell.
GLANCE = 10.0
# Tuples of a shortlist for each attribute; the next is tried where there is no time for the first.
# One that has more than this share of all tuples is none. In no more rows than these, for pairs and
# for deeper tuples, what looks telling is chance (musk1, segment): all folds but the first hold out
# rows that it is drawn by, and above 3,000 there is but one.
SHORTLISTS = (2.0, 0.5)
MOST_SHORTLISTED = 0.5
SHORTLIST_ROWS = (1_000, 3_000)
# Of the time, what is left for tilings by the searches before.
RESERVED = 0.4
# What they are called among what was not tried.
TILINGS = "tilings"


class Automatic:
    """Chooses a model for a source.

    Parameters
    ----------
    source : Source
        Rows of code columns, identical ones not merged: copies are told from chance here.
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
        random = np.random.default_rng(seed)
        drawn = source.draw(MAX_ROWS, random)
        self.has_all = drawn.n_rows == source.n_weighted
        self.sample = merge_copies(drawn)
        self.n_copies = drawn.n_rows - self.sample.n_rows
        self.held = draw_folds(self.sample, random)
        self.search = DepthSearch(
            source,
            self.sample,
            self.held,
            family,
            exact=exact,
            among=among,
            smoothing=smoothing,
            min_count=min_count,
            memory_limit=memory_limit,
            time_limit=time_limit,
            history=history,
            n_folds=len(self.held),
            threads=threads,
        )
        self.n_attributes = self.search.resolutions.n_attributes
        self.depths = [depth for depth in depths if depth <= self.n_attributes]
        self.least = min(least, self.depths[-1])
        self.trials: list[Trial] = []
        self.skipped: dict[str, str] = {}
        self.is_cut_short = False

    def choose(self) -> Choice:
        """Try the depths one after the other, and return the best model."""
        if self.least > self.depths[0]:
            # At once, and not after the search at lower depths.
            self.search.check_memory(self.least)
        best = self._search_depths()
        counted = self._count(best)
        self.is_cut_short |= counted == "time"
        if isinstance(counted, Choice):
            # It has all tuples of these depths, however the searches before it fared.
            had = {str(depth) for depth in range(1, counted.best.depth + 1)}
            skipped = {what: why for what, why in self.skipped.items() if what not in had}
            is_cut_short = self.is_cut_short or self.search.is_cut_short
            return replace(counted, skipped=skipped, is_cut_short=is_cut_short)
        strength = best.strength
        factor = find_caution(best.validation, strength, best.trial.loss, self.search.deadline)
        self.is_cut_short |= self.search.is_late or self.search.is_cut_short
        factor *= self._refine(best.levelled, strength)
        return Choice(
            best.levelled,
            strength * factor,
            best.trial,
            self.trials,
            self.skipped,
            factor,
            self.is_cut_short,
            best.tuples.among,
            self._count_left_out(best.tuples.lean),
            best.tuples.tiled,
            self.n_copies,
        )

    def _search_depths(self) -> Found:
        """Return the best of what is found at the depths."""
        best: Found | None = None
        strengths = Strengths((), GROWTH)
        shortlists: dict[int, np.ndarray] = {}
        for depth in self.depths:
            if depth == TILED_ORDER and best is not None and self._may_tile:
                tiled = self._search_tilings(best, strengths)
                if tiled is not None and tiled.gain_over(best) > WORTH:
                    gain = tiled.gain_over(best)
                    best = tiled
                    if gain > PROMISE:
                        self._skip([depth], f"all triples: tilings had gained {gain:.1%}")
                        break
            found = self._search_depth(depth, best, strengths, shortlists)
            if isinstance(found, str) and depth < self.least:
                continue
            if isinstance(found, str):
                self._skip([deeper for deeper in self.depths if deeper >= depth], found)
                break
            shortlists, strengths = found.tuples.shortlists, found.trial.strengths
            if depth < self.least:
                continue
            gain = found.gain_over(best)
            if gain > WORTH:
                best = found
            beaten = best or found
            if gain < PROMISE and not self._is_promising(depth + 1, beaten, strengths, shortlists):
                reason = f"n={depth} gained {gain:.1%} only"
                self._skip([deeper for deeper in self.depths if deeper > depth], reason)
                break
            # The folds and plans of what is not the best are not to lie beside the next ones.
            del found, beaten
        if best is None:
            raise AssertionError("the first depth is always tried")
        return best

    def _search_depth(
        self,
        depth: int,
        best: Found | None,
        strengths: Strengths,
        shortlists: dict[int, np.ndarray],
    ) -> Found | str:
        """Return what is found with all tuples of a depth, or with those that tell most."""
        found = self.search.run(
            depth,
            strengths,
            shortlists,
            forced=depth in (self.depths[0], self.least),
            reserve=RESERVED * self.time_limit * (self._may_tile and depth < TILED_ORDER),
        )
        if isinstance(found, str):
            if depth >= self.least:
                found = self._search_shortlist(depth, strengths, shortlists) or found
        else:
            self._note(found)
            # What all tuples gain in few rows, if little, those that tell most may gain without the
            # chance of the others (waveform-5000).
            if depth > 1 and len(self.held) > 1 and found.gain_over(best) < PROMISE:
                short = self._search_shortlist(depth, strengths, shortlists)
                found = short if short and short.gain_over(found) > WORTH else found
        return found

    def _is_promising(
        self,
        depth: int,
        best: Found,
        strengths: Strengths,
        shortlists: dict[int, np.ndarray],
    ) -> bool:
        """Tell whether a depth gains much at a glance, though the one before it did not.

        The parity of three attributes shows in no pair of them.
        """
        if depth not in self.depths or self.search.is_late:
            return False
        start = strengths.deeper(GLANCE)
        found = self.search.run(depth, start, shortlists, glances=True)
        if isinstance(found, str):
            return False
        self._note(found)
        return found.gain_over(best) > PROMISE

    def _skip(self, depths: Sequence[int], reason: str) -> None:
        """Keep why depths are not tried."""
        self.skipped |= {str(depth): reason for depth in depths}

    def _note(self, found: Found) -> None:
        """Keep what was tried."""
        trial = found.trial
        self.trials += found.search.trials
        self.is_cut_short |= found.search.is_cut_short
        logger.info("n=%d: held-out loss %.5f, %s", trial.depth, trial.loss, trial.strengths)

    @cached_property
    def _may_tile(self) -> bool:
        """Whether tilings are to be tried, should pairs pay."""
        is_free = self.least < TILED_ORDER and TILED_ORDER in self.depths
        return is_free and can_tile(self.search)

    def _search_tilings(self, best: Found, strengths: Strengths) -> Found | None:
        """Return what is found with tilings of the most telling attributes beside lower orders."""
        found = search_tilings(self.search, best, strengths)
        if isinstance(found, str):
            if found:
                self.skipped[TILINGS] = found
            return None
        self._note(found)
        return found

    def _count(self, best: Found) -> Choice | str:
        """Return the model whose cells score by their counts, or why it is not taken.

        If it is tried, that is added to the trials.
        """
        depth = max(self.depths)
        if not self.counts or self.exact or self.among is not None or depth == 1:
            return "not asked for"
        # A copy would find its class among the counts that were made without it.
        if self.sample.n_rows <= CERTAIN_ROWS or self.min_count > 1 or self.n_copies:
            return "rows"
        while depth > 1 and has_many_terms(self.source, depth):
            depth -= 1
        lean = self.search.list_lean(depth, {})
        try:
            levelled = self.search.list_terms(depth, Tuples(lean=lean), self.history)
        except MemoryError:
            return "memory"
        if not is_sparse(self.source, levelled.terms, self.search.room):
            return "rows"
        strengths = deepen(best.trial.strengths, levelled, depth)
        trial = try_evidence(
            self.sample,
            self.search.in_sample(levelled.terms),
            self.family.shared_out(levelled.shares, 0.0),
            self.held,
            strengths,
            smoothing=self.smoothing,
            deadline=self.search.deadline,
            seed=self.seed,
            threads=self.threads,
        )
        if isinstance(trial, str):
            return trial
        self.trials.append(trial)
        if trial.loss > best.trial.loss * (1.0 - WORTH_COUNTING):
            return "loss"
        strength = strengths.per_term(levelled)
        left_out = self._count_left_out(lean)
        return Choice(levelled, strength, trial, self.trials, among=lean, redundant=left_out)

    def _count_left_out(self, lean: dict[int, np.ndarray]) -> dict[int, int]:
        """Return how many tuples of each order were left out."""
        return {k: comb(self.n_attributes, k) - len(lean[k]) for k in lean}

    def _search_shortlist(
        self, depth: int, strengths: Strengths, shortlists: dict[int, np.ndarray]
    ) -> Found | None:
        """Return what is found with the most telling tuples of a depth, if there is time."""
        attributes = self.n_attributes
        rows = SHORTLIST_ROWS[0 if depth <= 2 else 1]
        if self.among is not None or self.sample.n_rows <= rows:
            return None
        for per_attribute in SHORTLISTS:
            count = int(per_attribute * attributes)
            is_short = 0 < count <= MOST_SHORTLISTED * comb(attributes, depth)
            if not is_short or self.search.is_late:
                return None
            tuples = draw_shortlist(self.sample, self.held[0], depth, count, self.threads)
            if not len(tuples):
                return None
            found = self.search.run(depth, strengths, shortlists | {depth: tuples})
            if isinstance(found, Found):
                self._note(found)
                return found
        return None

    def _refine(self, levelled: LevelledTerms, strength: np.ndarray) -> float:
        """Return what strengths are to be multiplied by for all rows, if only some were looked at.

        That may take as long again as the choice itself.
        """
        if self.has_all:
            return 1.0
        source = self.source
        if not isinstance(source, ArraySource) or not source.resident:
            per_row = 8.0 * ROW_VECTORS + len(source.cardinalities)
            count = min(MAX_REFINED, int(self.memory_limit / 4 / per_row))
            source = source.draw(max(count, MAX_ROWS), np.random.default_rng(self.seed))
        refined = find_factor(
            merge_copies(source),
            levelled.terms,
            self.family.shared_out(levelled.shares, 0.0),
            strength,
            smoothing=self.smoothing,
            min_count=self.min_count,
            deadline=perf_counter() + self.time_limit,
            random=np.random.default_rng(self.seed),
            threads=self.threads,
        )
        self.is_cut_short |= refined.is_cut_short
        return refined.factor
