"""Frequencies of values: what rows in memory, in parts and in batches show, is one and the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.code_column import CategoryColumn, NumberColumn
from deepbroad.data.encoding import Encoding
from deepbroad.data.frequencies import Frequencies, finest_columns
from deepbroad.kernels.threads import Threads
from tests.engine.problems import problems
from tests.parted import Parts


@given(problem=problems(), bound=st.integers(0, 40))
def test_counts_are_those_of_the_rows_however_they_come(problem, bound):
    source = problem.source()
    found = Frequencies.of(source, Threads(2))
    for counts, codes, v in zip(found.counts, problem.codes, problem.cardinalities, strict=True):
        expected = [problem.omega[codes == value].sum() for value in range(v)]
        np.testing.assert_allclose(counts, expected)
    bound = min(bound, source.n_rows - 1)
    if bound:
        parted = Frequencies.of(Parts.of(source, [bound]), Threads(1))
        np.testing.assert_allclose(parted.flat, found.flat)


@pytest.fixture
def encoding():
    return Encoding(
        [
            NumberColumn(0, "number", True, np.array([1.0])),
            NumberColumn(0, "number", True, np.array([0.0, 1.0])),
            CategoryColumn(1, "category", False, ("a", "c")),
        ],
        ["number", "category"],
    )


def test_the_finest_codes_are_counted_and_unknown_values_are_not(encoding):
    assert finest_columns(encoding.attributes).tolist() == [1, 2]
    codes = np.array([[0, 1, 2], [0, 2, 3], [1, 2, 1]], np.uint8)  # "c", never seen, "c"
    found = Frequencies.of_codes(codes, encoding)
    np.testing.assert_array_equal(found.counts[0], [1, 0, 1, 1])
    np.testing.assert_array_equal(found.counts[1], [0, 2])


def test_counts_move_to_the_codes_of_a_larger_encoding():
    first = Frequencies((np.array([2.0, 3.0]),))
    more = Frequencies((np.array([1.0, 1.0, 0.0]),))
    joined = first.joined([np.array([0, 2])], more)
    np.testing.assert_array_equal(joined.counts[0], [3, 1, 3])
    np.testing.assert_array_equal(more.counts[0], [1, 1, 0])


def test_one_array_holds_all_and_others_are_refused(encoding):
    found = Frequencies((np.array([1.0, 0.0, 1.0, 1.0]), np.array([0.0, 2.0])))
    again = Frequencies.from_flat(found.flat, encoding)
    for ours, theirs in zip(found.counts, again.counts, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for flat in (found.flat[:-1], -found.flat, np.full(6, np.nan)):
        with pytest.raises(ValueError, match="for each value"):
            Frequencies.from_flat(flat, encoding)
