"""Cells find their place again when the axes of their terms change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.arrangement import Arrangement
from deepbroad.model.terms import NONE, Terms

CARDINALITIES = np.array([2, 3, 4, 2])
MEMBERS = [[0, NONE, NONE], [0, 1, NONE], [1, 2, 3], [0, 2, 3]]
TERMS = Terms(np.array(MEMBERS), CARDINALITIES)


def named_cells(terms):
    """Return a name for each cell: its term's columns, ascending, and their values."""
    names = []
    for term in range(len(terms)):
        columns = terms.tuple(term)
        for values in np.ndindex(*CARDINALITIES[list(columns)]):
            names.append(tuple(sorted(zip(columns, values, strict=True))))
    return names


@given(st.permutations(range(4)), st.permutations(range(4)), st.sets(st.integers(0, 47)))
def test_parameters_keep_their_cells(before, after, kept):
    one, other = TERMS.ordered_by(np.array(before)), TERMS.ordered_by(np.array(after))
    were, are = named_cells(one), named_cells(other)
    arrangement = Arrangement(one.members, other)
    assert [were[cell] for cell in arrangement.cells] == are
    assert arrangement.is_same == (were == are)
    # Parameters of two classes, and of those cells that some row reaches.
    reached_names = {were[cell] for cell in kept if cell < len(were)}
    values = {name: i for i, name in enumerate(sorted(reached_names))}
    reached = np.array([i for i, name in enumerate(are) if name in values], np.int64)
    flat = [value for name in were if name in values for value in (values[name], -values[name])]
    parameters = np.array([[100.0, 200.0, *flat], [300.0, 400.0, *flat]])
    arrangement.move(parameters, reached)
    found = parameters[:, 2:].reshape(2, -1, 2)
    expected = [values[are[cell]] for cell in reached]
    np.testing.assert_array_equal(found[:, :, 0], [expected, expected])
    np.testing.assert_array_equal(found[:, :, 1], -found[:, :, 0])
    assert parameters[:, :2].tolist() == [[100, 200], [300, 400]]


def test_cells_of_compact_terms_stay():
    stored = np.array([NONE, 4, NONE, NONE])
    one = Terms(TERMS.members, CARDINALITIES, stored)
    members = TERMS.members.copy()
    members[1] = [1, 0, NONE]
    assert Arrangement(members, one).is_same
    assert not Arrangement(members, TERMS).is_same


def test_other_terms_are_refused():
    with pytest.raises(ValueError, match="same terms"):
        Arrangement(TERMS.members[:-1], TERMS)
    with pytest.raises(ValueError, match="same terms"):
        Arrangement(TERMS.members[::-1], TERMS)
