"""Streams: counts of batches one after the other are those of all their rows at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.encoding_union import encode_more, unite_labels
from deepbroad.data.labels import Labels
from deepbroad.data.source import ArraySource
from deepbroad.data.table import read_table
from deepbroad.engine import stream as stream_module
from deepbroad.engine.stream import EXACT, Batch, Stream, add_counts
from deepbroad.kernels.threads import Threads
from deepbroad.model.terms import Terms
from tests import naive
from tests.engine.problems import problems

ONE_THREAD = Threads(1)
PLENTY = 1e9


def batch_of(codes, labels, weights, stream=None):
    """Return rows whose values are their codes as text, and whose classes are numbers."""
    table = read_table(codes.T.astype(str).astype(object))
    seen, numbers = Labels.fit(labels)
    if stream is None:
        known = seen
        encoding, columns = Encoding.fit(table, numbers, seen.n_classes)
    else:
        known = unite_labels(stream.labels, seen)
        encoding, columns = encode_more(stream.encoding, table)
    source = ArraySource(
        columns,
        known.encode(labels),
        n_classes=known.n_classes,
        cardinalities=encoding.cardinalities,
        weights=weights,
    )
    return Batch(known, encoding, source)


def run(problem, sizes, n, limit=PLENTY):
    """Return the stream of a problem's rows, in batches of some sizes."""
    stream = None
    for rows in np.split(np.arange(len(problem.labels)), np.cumsum(sizes)):
        if not len(rows):
            continue
        part = problem.rows(rows)
        batch = batch_of(part.codes, part.labels, part.weights, stream)
        if stream is None:
            terms = Terms.of_order(n, batch.encoding.cardinalities)
            stream = Stream.begin(batch, terms, limit, ONE_THREAD)
        stream, source = stream.join(batch, limit, ONE_THREAD)
        assert source.n_rows == len(rows)
    return stream


def tables_of(stream):
    """Return the counts of each tuple by the values and classes that they are of."""
    terms, found = stream.plan.terms, {}
    for term in range(len(terms)):
        cells = range(terms.offsets[term], terms.offsets[term + 1])
        columns = terms.tuple(term)
        digits = np.indices([terms.cardinalities[c] for c in columns]).reshape(len(columns), -1)
        if terms.is_compact[term]:
            group = stream.plan.compact_groups[term]
            columns, digits = tuple(group.columns), group.digits
        for cell, codes in zip(cells, digits.T, strict=False):
            values = frozenset(
                (int(c), stream.encoding.columns[c].values[v])
                for c, v in zip(columns, codes, strict=True)
            )
            for y, count in zip(stream.labels.classes, stream.counts[cell], strict=True):
                if count:
                    found[values, int(y)] = count
    return found


def naive_tables(problem, n):
    """Return the same by loops over rows and tuples."""
    found = {}
    for r, (y, weight) in enumerate(zip(problem.labels, problem.omega, strict=True)):
        for columns in naive.tuples_of(len(problem.codes), n):
            values = frozenset((c, str(problem.codes[c, r])) for c in columns)
            found[values, int(y)] = found.get((values, int(y)), 0.0) + weight
    return found


def positive(problem):
    return problem.rows(np.flatnonzero(problem.omega > 0))


@given(problems(), st.lists(st.integers(1, 12), max_size=5), st.integers(1, 2), st.booleans())
def test_counts_are_those_of_all_rows(problem, sizes, n, compact):
    problem = positive(problem)
    with pytest.MonkeyPatch.context() as patch:
        if compact:
            patch.setattr("deepbroad.engine.compaction.SMALL_TABLE", 3)
        stream = run(problem, sizes, n)
    assert tables_of(stream) == naive_tables(problem, n)
    counts = naive.count_classes(problem.labels, problem.omega, problem.n_classes)
    np.testing.assert_array_equal(stream.class_counts, counts[counts > 0])
    assert stream.n_rows == len(problem.labels)


@given(problems(), st.integers(1, 2))
def test_a_plan_made_anew_at_every_batch_gives_the_same(problem, n):
    problem = positive(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "REPLAN", 0)
        patch.setattr(stream_module, "RECENT", 8)
        patch.setattr("deepbroad.engine.compaction.SMALL_TABLE", 3)
        stream = run(problem, [3] * (len(problem.labels) // 3), n)
    assert tables_of(stream) == naive_tables(problem, n)
    assert stream.recent.shape[1] <= 8


def test_the_latest_rows_are_kept_in_the_codes_of_now(monkeypatch):
    monkeypatch.setattr(stream_module, "RECENT", 3)
    first = batch_of(np.array([[5, 6, 7]]), np.array([0, 1, 0]), None)
    stream = Stream.begin(first, Terms.of_order(1, np.array([3])), PLENTY, ONE_THREAD)
    stream, _ = stream.join(first, PLENTY, ONE_THREAD)
    stream, _ = stream.join(
        batch_of(np.array([[1]]), np.array([0]), None, stream), PLENTY, ONE_THREAD
    )
    values = stream.encoding.columns[0].values
    assert [values[code] for code in stream.recent[0]] == ["6", "7", "1"]


def test_a_plan_is_kept_while_no_joint_value_is_new():
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.indices((2, 2, 2)).reshape(3, -1)] * 5, axis=1)
    labels = rng.integers(2, size=codes.shape[1])
    stream = run(Rows(codes, labels), [], 2)
    batch = batch_of(codes[:, :9], labels[:9], None, stream)
    later, _ = stream.join(batch, PLENTY, ONE_THREAD)
    assert later.plan is stream.plan
    assert later.planned == stream.planned == 40


class Rows:
    """As much of a problem as `run` needs."""

    def __init__(self, codes, labels):
        self.codes, self.labels, self.weights = codes, labels, None

    def rows(self, chosen):
        return Rows(self.codes[:, chosen], self.labels[chosen])


def test_a_batch_whose_values_do_not_fit_is_refused_and_the_stream_stays():
    rng = np.random.default_rng(0)
    small, large = rng.integers(3, size=(3, 50)), rng.integers(2000, size=(3, 4000))
    labels = rng.integers(2, size=4000)
    limit = 3_000_000
    stream = run(Rows(small, labels[:50]), [], 2, limit)
    before = stream.counts.copy()
    batch = batch_of(large, labels, None, stream)
    with pytest.raises(MemoryError, match="memory_limit"):
        stream.join(batch, limit, ONE_THREAD)
    np.testing.assert_array_equal(stream.counts, before)
    stream.join(batch, 20 * limit, ONE_THREAD)


def test_counts_turn_to_double_precision_before_single_would_round():
    ones = np.ones((1, 1), np.float32)
    assert add_counts(ones, ones, EXACT - 1).dtype == np.float32
    large = np.full((1, 1), EXACT, np.float32)
    assert add_counts(large, ones, EXACT + 1)[0, 0] == EXACT + 1
