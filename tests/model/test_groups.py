"""Columns joined into one code over the joint values that rows show."""

import numpy as np
import pytest

from deepbroad.model import groups as module
from deepbroad.model.groups import Group, code_dtype, encode_groups, observe_groups

CARDINALITIES = np.array([3, 2, 4])


@pytest.fixture(params=["direct table", "sorted search"])
def _lookup(request, monkeypatch):
    """Run with the direct table of keys, then as if there were too many keys for one."""
    if request.param == "sorted search":
        monkeypatch.setattr(module, "DIRECT_KEYS", 0)


def draw_codes(rows=30, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(v, size=rows) for v in CARDINALITIES]).astype(np.uint8)


@pytest.mark.usefixtures("_lookup")
def test_codes_number_the_joint_values_that_rows_have():
    codes = draw_codes()
    (group, rest) = observe_groups([(0, 2), (1,)], CARDINALITIES, [codes[:, :20], codes[:, 20:]])
    seen = sorted(set(zip(codes[0].tolist(), codes[2].tolist(), strict=True)))
    assert list(zip(*group.digits.tolist(), strict=True)) == seen
    assert group.size == len(seen)
    assert rest.size == 2
    joint, missing = encode_groups((group, rest), codes)
    assert not missing.any()
    np.testing.assert_array_equal(group.digits[:, joint[0]], codes[[0, 2]])
    np.testing.assert_array_equal(joint[1], codes[1])


@pytest.mark.usefixtures("_lookup")
def test_rows_without_a_code_are_told_and_get_code_zero():
    codes = np.array([[0, 1], [0, 1], [0, 0]], np.uint8)
    groups = observe_groups([(0, 1), (2,)], CARDINALITIES, [codes])
    to_predict = np.array([[0, 0, 1, 3, 0], [0, 1, 1, 0, 0], [0, 0, 3, 0, 4]], np.uint8)
    joint, missing = encode_groups(groups, to_predict)
    # A pair never seen together, a value never seen, and one never seen in a group of its own.
    assert missing.tolist() == [False, True, False, True, True]
    assert (joint[0, missing] == 0).sum() == 3
    assert joint[0, 2] == 1


@pytest.mark.usefixtures("_lookup")
def test_never_seen_values_in_training_rows_of_weight_zero_get_no_code():
    codes = np.array([[0, 1, 3], [0, 1, 0], [0, 0, 0]], np.uint8)
    group, _ = observe_groups([(0, 1), (2,)], CARDINALITIES, [codes])
    assert group.digits.tolist() == [[0, 1], [0, 1]]


def test_a_single_column_can_take_its_never_seen_value_in():
    group = Group.single(2, 4).with_unseen()
    assert group.size == 5
    joint, missing = np.empty(5, np.uint8), np.zeros(5, bool)
    codes = np.zeros((3, 5), np.uint8)
    codes[2] = range(5)
    group.encode(codes, joint, missing)
    assert not missing.any()
    assert joint.tolist() == [0, 1, 2, 3, 4]


def test_a_joined_group_cannot_take_never_seen_values_in():
    with pytest.raises(ValueError, match="one column"):
        Group(np.array([0, 1]), np.array([2, 2]), np.arange(4)).with_unseen()


@pytest.mark.parametrize(("size", "dtype"), [(256, np.uint8), (257, np.uint16), (65537, np.uint32)])
def test_codes_are_as_small_as_the_largest_group_allows(size, dtype):
    assert code_dtype([Group.single(0, 3), Group.single(1, size)]) == dtype
