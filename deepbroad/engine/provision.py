"""What to fit within a limit of memory: the plan, the solver's history and, at need, the terms.

A fit that would take too much is first planned without fusion and with a shorter history, which
change no model; then, unless the terms were given, only those that tell most about the class are
kept, as many as fit.
"""

from dataclasses import dataclass, replace
from math import ceil, comb, isinf

from deepbroad.data.source import Source
from deepbroad.engine.batches import least_batches
from deepbroad.engine.estimate import Estimate, estimate_fit, estimate_unlisted, refuse
from deepbroad.engine.footprint import Footprint, listed_bytes
from deepbroad.engine.memory import format_bytes, free_memory, release_freed
from deepbroad.engine.planning import Planner
from deepbroad.engine.workload import count_reached
from deepbroad.kernels.threads import Threads
from deepbroad.model.information import Scores
from deepbroad.model.plan import Plan
from deepbroad.model.screening import choose_terms, count_scored, sample_rows, score_terms
from deepbroad.model.selection import Selection
from deepbroad.model.terms import Terms

# More tuples than this are never listed.
MAX_LISTED = 30_000_000
# Codes of a table whose reading leaves enough behind to hand it back.
WORTH_RELEASING = 1_000_000
# Pairs that L-BFGS remembers at least where memory is short.
SHORT_HISTORY = 5
# Share of the limit that a screened model is meant to take, and how often that is corrected.
FILLED = 0.9
CORRECTIONS = 5
# Tuples that are scored where the best are searched for, not picked from all.
MAX_SEARCHED = 5_000_000


@dataclass(frozen=True, eq=False)
class Wish:
    """What a fit is to have: all tuples of n columns, the given terms, or the best of all.

    Terms of up to `small` joint values have dense tables (see `deepbroad.engine.compaction`).
    `beyond` is by how many columns tuples are deeper than what users know as n. A fit `in_batches`
    builds its tables for each.
    """

    n: int
    terms: Terms | None = None
    max_terms: int | None = None
    min_count: float = 1
    history: int = 0
    small: int | None = None
    beyond: int = 0
    in_batches: bool = False


@dataclass(frozen=True, eq=False)
class Provision:
    """What a fit will have.

    Attributes
    ----------
    plan : Plan or None
        None where the tuples are too many to list, which only an estimate can bear.
    estimate : Estimate
    history : int
        Pairs that the solver remembers.
    n_tuples : int
        How many tuples there are, of which the plan has all or some.
    scores : Scores or None
        What each term tells about the class, if they were screened.
    by_limit : bool
        Whether the memory limit, not the user, asked for the screening.
    """

    plan: Plan | None
    estimate: Estimate
    history: int
    n_tuples: int
    scores: Scores | None = None
    by_limit: bool = False


def provide(source: Source, wish: Wish, limit: float, threads: Threads) -> Provision:
    """Return what a fit will have; MemoryError if nothing useful fits into `limit` bytes."""
    found = Provider(source, wish, limit, threads).provide()
    if not source.resident or source.n_rows * len(source.cardinalities) > WORTH_RELEASING:
        # What reading and planning have freed is to serve the fit, not to come on top of it; limits
        # of fits from files are kept by the process as a whole.
        release_freed()
    return found


class Provider:
    """Tries one plan after the other."""

    def __init__(self, source: Source, wish: Wish, limit: float, threads: Threads) -> None:
        self.source, self.wish, self.limit, self.threads = source, wish, limit, threads
        self.n_columns = len(source.cardinalities)
        self.n_tuples = comb(self.n_columns, wish.n)

    def provide(self) -> Provision:
        """Return the first provision that fits."""
        wish = self.wish
        if (needed := self._unavoidable()) > self.limit:
            raise MemoryError(
                f"To read and code this table takes about {format_bytes(needed)} by itself and "
                f"memory_limit allows {format_bytes(self.limit)}. Raise memory_limit, or use fewer "
                "rows or columns."
            )
        if wish.terms is not None:
            return self._insist(self._plan(*self._pick(wish.terms)))
        if wish.max_terms is not None and wish.max_terms < self.n_tuples:
            return self._insist(self._plan(*self._screen(wish.max_terms)))
        whole = self._plan_all()
        # An estimate, which has no limit, can do without a plan.
        if isinf(self.limit) or (whole.plan is not None and self._fits(whole)):
            return whole
        return self._shrink(whole)

    def _unavoidable(self) -> float:
        """Return the bytes that a fit takes whatever its terms are."""
        nothing = Terms.of_order(1, self.source.cardinalities)
        return Footprint.bare(self.source, nothing, 0.0).unavoidable

    def _plan_all(self) -> Provision:
        """Return the plan of all tuples, or how much too large it would be."""
        n, history = self.wish.n, self.wish.history
        least = listed_bytes(self.n_tuples, n, 0) + 4.0 * self.n_tuples
        if self.n_tuples > MAX_LISTED or least > self.limit:
            return Provision(None, self._guess(n), history, self.n_tuples)
        terms = Terms.of_order(n, self.source.cardinalities)
        # How many cells `min_count` leaves is only known from counting.
        reached = count_reached(self.source, terms) if self.wish.min_count <= 1 else 0.0
        bare = Footprint.bare(self.source, terms, reached).total(min(history, SHORT_HISTORY))
        if bare > (free_memory() if isinf(self.limit) else self.limit):
            # Not even the cells that rows reach fit: no plan can help.
            estimate = replace(self._guess(n), bytes=int(bare))
            return Provision(None, estimate, history, self.n_tuples)
        return self._plan(terms)

    def _fits(self, found: Provision) -> bool:
        return found.estimate.bytes <= self.limit

    def _plan(
        self, terms: Terms, scores: Scores | None = None, *, by_limit: bool = False
    ) -> Provision:
        """Return the cheapest plan of some terms that fits, or the smallest."""
        wish = self.wish
        histories = sorted({wish.history, min(wish.history, SHORT_HISTORY)}, reverse=True)
        planner = Planner(
            self.source,
            terms,
            min_count=wish.min_count,
            threads=self.threads,
            small=wish.small,
            evaluations=least_batches(self.source.n_rows) if wish.in_batches else 1,
        )
        found = []
        # Fused tables can be larger than the cells that they are built from.
        for plan in (planner.cheapest, planner.single):
            made = plan()
            for history in histories:
                estimate = estimate_fit(
                    self.source, made, history=history, n_threads=self.threads.count
                )
                found.append(Provision(made, estimate, history, self.n_tuples, scores, by_limit))
                if self._fits(found[-1]):
                    return found[-1]
        return min(found, key=lambda one: one.estimate.bytes)

    def _shrink(self, whole: Provision) -> Provision:
        """Return the best terms, as many as fit."""
        floor = ceil(self.n_columns / self.wish.n)
        count = int(FILLED * self.limit / whole.estimate.bytes * self.n_tuples)
        count = min(count, MAX_LISTED // 2)
        if count_scored(self.n_columns, self.wish.n, 1) < self.n_tuples:
            # A search, whose time grows with what it keeps.
            count = min(count, max(floor, MAX_SEARCHED // (self.wish.n * self.n_columns)))
        if count < floor:
            return self._insist(whole)
        terms, scores = self._screen(count)
        for _ in range(CORRECTIONS):
            found = self._plan(terms, scores, by_limit=True)
            if self._fits(found):
                return found
            count = int(FILLED * self.limit / found.estimate.bytes * len(terms))
            if count < floor:
                break
            terms, scores = best_terms(terms, scores, count)
        return self._insist(whole)

    def _screen(self, count: int) -> tuple[Terms, Scores]:
        """Return the best terms of all, and the scores of each."""
        n, cardinalities = self.wish.n, self.source.cardinalities
        sample = sample_rows(self.source, count_scored(self.n_columns, n, count))
        return choose_terms(sample, n, cardinalities, count, threads=self.threads)

    def _pick(self, terms: Terms) -> tuple[Terms, Scores | None]:
        """Return the given terms, or the best of them if they are to be fewer."""
        count = self.wish.max_terms
        if count is None or count >= len(terms):
            return terms, None
        sample = sample_rows(self.source, len(terms))
        scores = score_terms(sample, terms.members, terms.cardinalities, threads=self.threads)
        return best_terms(terms, scores, count)

    def _insist(self, found: Provision) -> Provision:
        """Return a provision that fits; raise MemoryError for one that does not."""
        if found.plan is not None and self._fits(found):
            return found
        sizes = {order: float(self._guess(order).bytes) for order in range(1, self.wish.n)}
        smaller = {order - self.wish.beyond: size for order, size in sizes.items()}
        raise refuse(found.estimate.bytes, int(self.limit), smaller)

    def _guess(self, n: int) -> Estimate:
        return estimate_unlisted(
            self.source, n, history=self.wish.history, n_threads=self.threads.count
        )


def best_terms(terms: Terms, scores: Scores, count: int) -> tuple[Terms, Scores]:
    """Return the best of terms that are already screened."""
    selection = Selection(terms.members.shape[1], terms.cardinalities, count)
    selection.add(terms.members, scores)
    chosen = selection.chosen()
    return Terms(chosen.members, terms.cardinalities), Scores(chosen.relevance, chosen.gain)
