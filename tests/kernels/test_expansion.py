"""Fused tables from cells and back, against sums over explicit joint values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.source import Block
from deepbroad.kernels.expansion import STEP_WIDTH, expand_steps, marginalise_steps
from deepbroad.kernels.vector import lanes_for
from deepbroad.model.groups import observe_groups, observe_tuples
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms
from tests import naive
from tests.engine.problems import partitions

pytestmark = [
    pytest.mark.uncompiled,
    # Uncompiled, NumPy tells that the product of a hash wraps, as it is meant to.
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar multiply:RuntimeWarning"),
]

CARDINALITIES = np.array([2, 3, 1, 2, 3])
PARTITIONS = {
    "one group per column": [(0,), (1,), (2,), (3,), (4,)],
    "pairs": [(0, 3), (1, 4), (2,)],
    "out of order": [(4, 1, 0), (3, 2)],
    "one group": [(0, 1, 2, 3, 4)],
}


def make_plan(n, partition, rows=12):
    rng = np.random.default_rng(n)
    codes = np.stack([rng.integers(v, size=rows) for v in CARDINALITIES]).astype(np.uint8)
    groups = observe_groups(PARTITIONS[partition], CARDINALITIES, [codes])
    return Plan.of(Terms.of_order(n, CARDINALITIES), groups)


def expand(plan, cells, width):
    program = plan.program
    entries = np.full((plan.n_entries, width), np.nan)
    # No step writes the last entry of a compact table, for values never seen.
    entries[np.cumsum(plan.table_sizes)[plan.table_of[plan.terms.is_compact]] - 1] = 0.0
    entries = entries.ravel()
    scratch = np.full(program.scratch * width, np.nan)
    expand_steps(program.steps, program.maps, cells, entries, scratch, lanes_for(width), width)
    return entries


def marginalise(plan, entries, width):
    program = plan.program
    cells = np.full(plan.terms.n_cells * width, np.nan)
    scratch = np.full(program.scratch * width, np.nan)
    marginalise_steps(program.steps, program.maps, cells, entries, scratch, lanes_for(width), width)
    return cells


def expand_naively(plan, cells, width):
    terms, cells = plan.terms, cells.reshape(-1, width)
    term_of = {terms.tuple(t): t for t in range(len(terms))}

    def cells_of(columns, values):
        shape = [int(terms.cardinalities[c]) for c in columns]
        return cells[terms.offsets[term_of[columns]] + np.ravel_multi_index(values, shape)]

    entries = []
    for table, support in enumerate(plan.supports):
        held = np.flatnonzero(plan.table_of == table)
        if terms.is_compact[held[0]]:
            # Its own cells, and nothing for values never seen.
            entries += [cells[terms.offsets[held[0]] : terms.offsets[held[0] + 1]], np.zeros(width)]
            continue
        parts = [terms.tuple(t) for t in held]
        members = [int(g) for g in support if g != NONE]
        entries.append(naive.expand_table(plan.groups, members, parts, cells_of, width))
    return np.vstack(entries).ravel()


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_entry_is_the_sum_of_its_cells(n, partition):
    plan = make_plan(n, partition)
    for width in (1, 3):
        cells = np.random.default_rng(width).normal(size=plan.terms.n_cells * width)
        found = expand(plan, cells, width)
        np.testing.assert_allclose(found, expand_naively(plan, cells, width), atol=1e-13)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_marginalising_is_the_transpose_of_expanding(n, partition):
    plan = make_plan(n, partition)
    width = 2
    rng = np.random.default_rng(0)
    x = rng.normal(size=plan.terms.n_cells * width)
    y = rng.normal(size=plan.n_entries * width)
    expanded, summed = expand(plan, x, width), marginalise(plan, y, width)
    assert expanded @ y == pytest.approx(x @ summed, rel=1e-12)


@st.composite
def mixed_plans(draw):
    """Draw a plan of terms of any orders, fused over any groups, with compact ones beside."""
    a = draw(st.integers(1, 6))
    cardinalities = np.array(draw(st.lists(st.integers(1, 3), min_size=a, max_size=a)))
    columns = st.sets(st.integers(0, a - 1), min_size=1, max_size=4)
    tuples = draw(st.lists(columns, min_size=1, max_size=12))
    terms = Terms.of([tuple(t) for t in tuples], cardinalities)
    is_compact = draw(st.lists(st.booleans(), min_size=len(terms), max_size=len(terms)))
    compact = np.flatnonzero(is_compact if draw(st.booleans()) else np.zeros(len(terms)))
    # Few rows, so that groups have but some of their joint values.
    rng, rows = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.integers(1, 9))
    codes = rng.integers(cardinalities[:, None], size=(a, rows)).astype(np.uint8)
    groups = observe_groups(draw(partitions(a)), cardinalities, [codes])
    own = observe_tuples(
        [terms.tuple(t) for t in compact], cardinalities, [Block(codes, np.zeros(rows), None)], 1
    )
    plan = Plan.of(terms, groups, dict(zip(compact.tolist(), own, strict=True)))
    return plan.with_unseen() if draw(st.booleans()) else plan


@settings(max_examples=80)
@given(mixed_plans(), st.sampled_from([1, 2, 3]))
def test_every_entry_is_the_sum_of_its_cells_for_any_terms_and_groups(plan, width):
    cells = np.random.default_rng(width).normal(size=plan.terms.n_cells * width)
    found = expand(plan, cells, width)
    np.testing.assert_allclose(found, expand_naively(plan, cells, width), atol=1e-13)


@settings(max_examples=80)
@given(mixed_plans(), st.sampled_from([1, 2, 3]))
def test_marginalising_is_the_transpose_for_any_terms_and_groups(plan, width):
    rng = np.random.default_rng(0)
    x = rng.normal(size=plan.terms.n_cells * width)
    y = rng.normal(size=plan.n_entries * width)
    expanded, summed = expand(plan, x, width), marginalise(plan, y, width)
    assert expanded @ y == pytest.approx(x @ summed, rel=1e-10, abs=1e-10)


def plan_with_unseen():
    """A plan in which several terms share a table that also has entries of never-seen values."""
    terms = Terms.of([(0,), (1,), (0, 1), (3, 4), (4,)], CARDINALITIES)
    groups = observe_groups(PARTITIONS["pairs"], CARDINALITIES, [])
    return Plan.of(terms, groups).with_unseen()


def test_entries_of_never_seen_values_get_nothing():
    plan = plan_with_unseen()
    cells = np.random.default_rng(0).normal(size=plan.terms.n_cells * 2)
    found = expand(plan, cells, 2)
    np.testing.assert_allclose(found, expand_naively(plan, cells, 2), atol=1e-13)
    assert (found == 0).any()


def test_entries_of_never_seen_values_give_nothing_back():
    plan = plan_with_unseen()
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=plan.terms.n_cells), rng.normal(size=plan.n_entries)
    summed = marginalise(plan, y, 1)
    assert expand(plan, x, 1) @ y == pytest.approx(x @ summed, rel=1e-12)


def test_no_steps_do_nothing():
    entries = np.ones(3)
    steps = np.empty((0, STEP_WIDTH), np.int64)
    expand_steps(steps, np.empty(0, np.int32), np.ones(3), entries, np.empty(0), (0,), 1)
    assert entries.tolist() == [1, 1, 1]
