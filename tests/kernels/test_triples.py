"""Triples of value, class and weight against their obvious twins."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.triples import group_neighbours, sum_pairs

pytestmark = pytest.mark.uncompiled
ROWS = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 2), st.sampled_from([0.5, 1.0, 3.0])), max_size=12
)


@pytest.mark.parametrize("weighted", [True, False])
@given(rows=ROWS)
def test_pairs_have_the_summed_weight_of_their_rows(weighted, rows):
    rows = sorted(rows, key=lambda row: row[0])
    expected = defaultdict(float)
    for value, label, weight in rows:
        expected[value, label] += weight if weighted else 1.0
    values, labels, weights = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    )
    found = sum_pairs(
        values.astype(float), labels.astype(np.int32), weights if weighted else np.empty(0), 3
    )
    pairs = zip(*(column.tolist() for column in found), strict=True)
    assert list(pairs) == [(*pair, weight) for pair, weight in sorted(expected.items())]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_groups_are_as_heavy_as_the_limit_lets_them(mass, limit):
    median, error = group_neighbours(np.array(mass, float), float(limit))
    groups = [np.flatnonzero(median == middle) for middle in np.unique(median)]
    mass = np.array(mass)
    worst = 0
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        assert (np.diff(group) == 1).all()
        assert len(group) == 1 or mass[group].sum() <= limit
        if following is not None:
            assert mass[group].sum() + mass[following[0]] > limit
        middle = median[group[0]]
        below, above = mass[group[group < middle]].sum(), mass[group[group > middle]].sum()
        assert max(below, above) * 2 <= mass[group].sum()
        worst = max(worst, below, above)
    assert error == worst
