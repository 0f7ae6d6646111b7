"""Values per term, spread over cells: against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.family import Family, spread
from deepbroad.model.terms import NONE, Terms

CARDINALITIES = np.array([2, 3, 4, 2])
# The last two with compact tables: 3 and 5 joint values, and a cell for the others.
TERMS = Terms.of([(0,), (2,), (0, 1), (1, 2), (0, 2, 3)], CARDINALITIES)
COMPACT = Terms(TERMS.members, CARDINALITIES, np.array([NONE, NONE, NONE, 3, 5]))


@pytest.mark.parametrize("terms", [TERMS, COMPACT], ids=["dense", "compact"])
@given(data=st.data())
def test_each_cell_has_the_value_of_its_term(terms, data):
    cells = np.array(sorted(data.draw(st.sets(st.integers(0, terms.n_cells - 1)))), np.int32)
    values = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    found = spread(values, terms, cells)
    term_of = [t for t in range(len(terms)) for _ in range(int(terms.sizes[t]))]
    assert found.shape == (len(cells), 1)
    assert found[:, 0].tolist() == [values[term_of[cell]] for cell in cells]


def test_one_value_for_all_terms_stays_one():
    for value in (0.5, np.float64(0.5), np.array(0.5)):
        assert spread(value, TERMS, np.arange(4)) == 0.5


def test_only_models_that_back_off_fix_unreached_joint_values_at_zero():
    target = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    plain = Family(generative=True, strength=1.0, target=target)
    np.testing.assert_array_equal(plain.fixed_target(TERMS), target)
    backing_off = Family(generative=True, strength=1.0, target=target, backs_off=True)
    np.testing.assert_array_equal(backing_off.fixed_target(TERMS), [0.1, 0.2, 0, 0, 0])
    single = Family(generative=True, strength=1.0, target=1.0, backs_off=True)
    np.testing.assert_array_equal(single.fixed_target(TERMS), [1, 1, 0, 0, 0])


def test_terms_share_start_and_target_but_not_strengths():
    family = Family(generative=True, strength=9.0, target=1.0, by_score=True, backs_off=True)
    shares = np.array([0.5, 0.5, 0.25, 0.25, 0.125])
    strength = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = family.shared_out(shares, strength)
    np.testing.assert_array_equal(found.start, shares)
    np.testing.assert_array_equal(found.target, shares)
    np.testing.assert_array_equal(found.strength, strength)
    assert (found.generative, found.by_score, found.backs_off) == (True, True, True)
    to_zero = Family(generative=True, strength=1.0).shared_out(shares, 2.0)
    np.testing.assert_array_equal(to_zero.target, 0.0)
    np.testing.assert_array_equal(to_zero.start, shares)
    assert to_zero.strength == 2.0
