"""Rows that come in batches and are not kept: what is known of all of them, in counts."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.data.encoding_union import code_maps
from deepbroad.data.labels import Labels
from deepbroad.data.source import ArraySource
from deepbroad.engine.footprint import Footprint
from deepbroad.engine.passes import count_cells
from deepbroad.engine.planning import group_part
from deepbroad.engine.provision import Wish, provide
from deepbroad.kernels.threads import Threads
from deepbroad.model.growth import Growth, add_cells, add_keys, grow_plan, move_cells, own_cells
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms

# The latest rows stay, so many at most: a plan for small batches needs more rows than they have.
RECENT = 1 << 14
# A plan is made anew when there are so many times as many rows as when it was made. In between it
# only gains joint values: what it costs to plan then stays a small share of all.
REPLAN = 4
# Whole numbers below this are exact in single precision.
EXACT = 2**24


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that join a stream.

    Attributes
    ----------
    labels : Labels
        The classes of the stream and of these rows.
    encoding : Encoding
        Of the values of the stream and of these rows.
    source : ArraySource
        The rows of weight in these codes.
    """

    labels: Labels
    encoding: Encoding
    source: ArraySource


@dataclass(frozen=True, eq=False)
class Stream:
    """What is kept of a stream of rows. A batch makes a new one: an error leaves the old.

    Attributes
    ----------
    labels : Labels
    encoding : Encoding
    plan : Plan
        It has a cell for every joint value that came.
    class_counts, counts : ndarrays of shape (C,) and (n_cells, C)
        The weight of the rows of each class, and in each cell.
    n_rows : int
        How many rows came.
    announced : bool
        Whether the classes were announced, so that no others may come.
    planned : int
        How many rows there were when the plan was made.
    recent : ndarray of shape (n_columns, k)
        The codes of the latest rows.
    """

    labels: Labels
    encoding: Encoding
    plan: Plan
    class_counts: np.ndarray
    counts: np.ndarray
    n_rows: int
    announced: bool
    planned: int
    recent: np.ndarray = field(repr=False)

    @classmethod
    def begin(
        cls,
        batch: Batch,
        terms: Terms,
        limit: float,
        threads: Threads,
        *,
        history: int = 0,
        announced: bool = False,
    ) -> "Stream":
        """Return a stream that is planned for a first batch, which has not joined yet.

        MemoryError if the tables of the terms do not fit into `limit` bytes.
        """
        plan = make_plan(batch.source, terms, limit, threads, history)
        n_classes = batch.labels.n_classes
        return cls(
            labels=batch.labels,
            encoding=batch.encoding,
            plan=plan,
            class_counts=np.zeros(n_classes),
            counts=np.zeros((plan.terms.n_cells, n_classes), np.float32),
            n_rows=0,
            announced=announced,
            planned=batch.source.n_given,
            recent=batch.source.codes[:, :0],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.counts.nbytes + self.class_counts.nbytes + self.recent.nbytes

    def join(
        self,
        batch: Batch,
        limit: float,
        threads: Threads,
        *,
        history: int = 0,
        announced: bool | None = None,
    ) -> tuple["Stream", ArraySource]:
        """Return the stream with a batch, and the batch coded in the groups of its plan.

        Where tables do not fit into `limit` bytes beside what is kept, MemoryError.
        """
        growth = self.growth(batch)
        n_rows = self.n_rows + batch.source.n_given
        recent = self._latest(batch, growth)
        plan, planned = add_rows(grow_plan(self.plan, growth), batch.source, threads), self.planned
        free = limit - self.nbytes
        if n_rows >= REPLAN * planned or bytes_needed(batch.source, plan, history) > free:
            rows = batch.source if batch.source.n_rows >= recent.shape[1] else bare(batch, recent)
            plan = self._planned_anew(plan, rows, growth, free, threads, history)
            plan, planned = add_rows(plan, batch.source, threads), n_rows
        source = group_part(batch.source, plan, threads)
        class_counts, counts = count_cells(source, plan, threads)
        counts = add_counts(self.moved(self.counts, plan, batch), counts, n_rows)
        before = np.zeros(len(class_counts))
        before[self.class_places(batch)] = self.class_counts
        return Stream(
            labels=batch.labels,
            encoding=batch.encoding,
            plan=plan,
            class_counts=before + class_counts,
            counts=counts,
            n_rows=n_rows,
            announced=self.announced if announced is None else announced,
            planned=planned,
            recent=recent,
        ), source

    def growth(self, batch: Batch) -> Growth:
        """Return how columns grow when a batch joins."""
        maps = code_maps(self.encoding, batch.encoding)
        return Growth(maps, batch.encoding.cardinalities)

    def class_places(self, batch: Batch) -> np.ndarray:
        """Return the number that each class has once a batch has joined."""
        return batch.labels.encode(self.labels.classes).astype(np.int64)

    def moved(self, values: np.ndarray, plan: Plan, batch: Batch) -> np.ndarray:
        """Return values of cells and classes where they are in the plan that a batch leads to."""
        n_classes = batch.labels.n_classes
        growth, places = self.growth(batch), self.class_places(batch)
        return move_cells(values, self.plan, plan, growth, places, n_classes)

    def _latest(self, batch: Batch, growth: Growth) -> np.ndarray:
        """Return the codes of the latest rows, those of a batch last."""
        codes = batch.source.codes[:, -RECENT:]
        kept = self.recent[:, max(0, self.recent.shape[1] + codes.shape[1] - RECENT) :]
        columns = np.arange(len(kept))[:, None]
        kept = growth.move(columns, kept.astype(np.int64)).astype(codes.dtype)
        return np.concatenate([kept, codes], axis=1)

    def _planned_anew(
        self,
        grown: Plan,
        rows: ArraySource,
        growth: Growth,
        limit: float,
        threads: Threads,
        history: int,
    ) -> Plan:
        """Return the best plan for some rows, with the cells that this stream has."""
        ascending = np.arange(len(grown.terms.cardinalities))
        terms = Terms(grown.terms.members, grown.terms.cardinalities).ordered_by(ascending)
        plan = make_plan(rows, terms, limit, threads, history)
        return add_cells(plan, self.plan, own_cells(self.counts, self.plan), growth)


def make_plan(
    source: ArraySource, terms: Terms, limit: float, threads: Threads, history: int
) -> Plan:
    """Return the best plan of some terms for rows that fits into `limit` bytes."""
    wish = Wish(terms.members.shape[1], terms=terms, history=history)
    plan = provide(source, wish, limit, threads).plan
    if plan is None:
        raise AssertionError("terms that are listed have a plan")
    return plan


def bare(batch: Batch, codes: np.ndarray) -> ArraySource:
    """Return rows of a stream to plan for, whose classes do not matter."""
    labels = np.zeros(codes.shape[1], np.uint8)
    return batch.encoding.as_source(codes, labels, None, batch.labels.n_classes)


def bytes_needed(source: ArraySource, plan: Plan, history: int) -> float:
    """Return about what it takes to count or fit rows under a plan, all cells reached."""
    return Footprint.of(source, plan, plan.terms.n_cells).total(history)


def add_rows(plan: Plan, source: ArraySource, threads: Threads) -> Plan:
    """Return the plan with the joint values of rows."""
    found = [group.keys for group in plan.groups]

    def look(g: int) -> None:
        found[g] = plan.groups[g].distinct_keys(source.codes)

    chosen = [g for g, group in enumerate(plan.groups) if not group.is_identity]
    threads.run([partial(look, g) for g in chosen])
    return add_keys(plan, found)


def add_counts(first: np.ndarray, second: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the sum of counts, in single precision only while that is exact."""
    if first.dtype == second.dtype == np.float32 and n_rows >= EXACT:
        first = first.astype(np.float64)
    return first + second
