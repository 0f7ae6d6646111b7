"""Shifts of tilings, and the level of their bins."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from deepbroad.model.tiling import COPIES, MAX_LEVEL, list_shifts, tiling_level


@pytest.mark.parametrize("order", [2, 3, 4])
def test_each_member_is_shifted_by_each_quarter_equally_often(order):
    shifts = list_shifts(order)
    assert shifts.shape == (COPIES, order)
    for member in shifts.T.tolist():
        assert Counter(member) == dict.fromkeys(range(4), COPIES // 4)


@pytest.mark.parametrize("order", [2, 3])
def test_no_two_grids_shift_two_members_alike(order):
    for first, second in combinations(range(order), 2):
        pairs = list_shifts(order)[:, [first, second]].tolist()
        assert len({tuple(pair) for pair in pairs}) == COPIES


def test_eight_grids_tell_more_places_apart_than_one():
    # A square of 4 × 4 bins, each cut into quarters.
    fine = np.stack(np.meshgrid(np.arange(16), np.arange(16))).reshape(2, -1)
    cells = {tuple(place // 4) for place in fine.T}
    told = {tuple(((place + list_shifts(2)) // 4).ravel()) for place in fine.T}
    assert len(cells) == 16
    assert len(told) == 256


def test_bins_are_as_fine_as_rows_bear():
    assert [tiling_level(rows, 3) for rows in (1, 100, 2**8, 2**11, 2**14, 1e9)] == [
        1, 1, 2, 3, MAX_LEVEL, MAX_LEVEL,
    ]  # fmt: skip
    assert tiling_level(2**14, 2) == MAX_LEVEL
    assert tiling_level(2**14, 4) == 3
