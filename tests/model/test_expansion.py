"""The steps that build fused tables: maps of parts, and a range of steps for every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.kernels.expansion import (
    FROM_SCRATCH,
    INNER,
    JOINT,
    MAP,
    OUTER,
    SOURCE,
    TARGET,
    TO_SCRATCH,
    VALUES,
    expand_steps,
    marginalise_steps,
)
from deepbroad.kernels.vector import lanes_for
from deepbroad.model.expansion import map_part
from deepbroad.model.groups import Group, observe_groups
from deepbroad.model.plan import Plan
from deepbroad.model.terms import NONE, Terms
from tests.engine.problems import draw_problem
from tests.engine.test_compact import mixed_plan
from tests.kernels.test_expansion import expand, marginalise, mixed_plans


def own_steps(program, table):
    return program.steps[program.table_steps[table] : program.table_steps[table + 1]]


def bounds_of(plan, table):
    last = int(np.cumsum(plan.table_sizes)[table])
    return last - int(plan.table_sizes[table]), last


@given(mixed_plans())
def test_steps_read_and_write_inside_their_arrays(plan):
    program = plan.program
    assert program.table_steps[0] == 0
    assert program.table_steps[-1] == len(program.steps)
    for table in range(plan.n_tables):
        first, last = bounds_of(plan, table)
        for step in own_steps(program, table):
            source = step[SOURCE] + step[OUTER] * step[VALUES] * step[INNER]
            target = step[TARGET] + step[OUTER] * step[JOINT] * step[INNER]
            assert source <= (program.scratch if step[FROM_SCRATCH] else plan.terms.n_cells)
            if step[TO_SCRATCH]:
                assert target <= program.scratch
            else:
                assert first <= step[TARGET] <= target <= last
            values = program.maps[step[MAP] : step[MAP] + step[JOINT]]
            assert len(values) == step[JOINT]
            assert (values < step[VALUES]).all()


@given(mixed_plans())
def test_every_cell_is_read_by_one_step(plan):
    read = np.zeros(plan.terms.n_cells, int)
    for step in plan.program.steps:
        if not step[FROM_SCRATCH]:
            read[step[SOURCE] : step[SOURCE] + step[OUTER] * step[VALUES] * step[INNER]] += 1
    assert (read == 1).all()


@given(mixed_plans(), st.randoms(use_true_random=False))
def test_tables_are_built_apart_from_each_other(plan, random):
    # As threads do: each some tables, with scratch memory of its own.
    program, width = plan.program, 2
    rng = np.random.default_rng(0)
    cells = rng.normal(size=plan.terms.n_cells * width)
    expected = expand(plan, cells, width)
    summed = marginalise(plan, expected, width)
    entries = expected.copy()
    tables = list(range(plan.n_tables))
    random.shuffle(tables)
    for table in tables:
        first, last = bounds_of(plan, table)
        is_compact = plan.terms.is_compact[plan.table_of == table].any()
        entries[first * width : (last - is_compact) * width] = np.nan
        arguments = (program.maps, cells, entries)
        scratch = np.full(program.scratch * width, np.nan)
        expand_steps(own_steps(program, table), *arguments, scratch, lanes_for(width), width)
        np.testing.assert_array_equal(entries, expected)
        back = np.full(len(cells), np.nan)
        arguments = (program.maps, back, entries)
        scratch = np.full(program.scratch * width, np.nan)
        marginalise_steps(own_steps(program, table), *arguments, scratch, lanes_for(width), width)
        held = np.repeat(plan.terms.per_cell(plan.table_of == table), width)
        np.testing.assert_array_equal(back[held], summed[held])
        assert np.isnan(back[~held]).all()


def test_terms_that_items_serve_have_no_steps():
    problem = draw_problem(0, a=4, rows=30)
    is_compact = [True, False, False, True, False, False]
    terms = mixed_plan(problem, 2, [(0, 1), (2, 3)], is_compact).terms
    groups = mixed_plan(problem, 2, [(0, 1), (2, 3)], is_compact).compact_groups
    plan = Plan.of(terms, (), groups, np.zeros(4, int))
    sources = plan.program.steps[:, SOURCE]
    assert sources.tolist() == plan.terms.offsets[:-1][is_compact].tolist()


def test_one_table_per_term_is_a_copy_of_its_cells():
    terms = Terms.of_order(2, np.array([2, 3, 4]))
    groups = observe_groups([(0,), (1,), (2,)], terms.cardinalities, [])
    program = Plan.of(terms, groups).program
    assert len(program.steps) == len(terms)
    assert program.scratch == 0
    assert program.steps[:, INNER].tolist() == [6, 8, 12]


@pytest.mark.parametrize("columns", [[5], [2, 5], [5, 2], [7], []])
def test_parts_map_codes_of_a_group_to_joint_values_of_some_columns(columns):
    # Digits of columns 2, 5 and 7 in radix V + 1; V itself was never seen.
    cardinalities = {2: 2, 5: 3, 7: 1}
    joint = [(0, 2, 0), (1, 0, 0), (1, 2, 0), (0, 3, 0), (2, 1, 0), (1, 1, 1)]
    keys = np.ravel_multi_index(np.array(joint).T, (3, 4, 2))
    group = Group(np.array([2, 5, 7]), np.array([2, 3, 1]), keys)
    expected = []
    for row in joint:
        digits = [dict(zip(cardinalities, row, strict=True))[c] for c in columns]
        shape = [cardinalities[c] for c in columns]
        seen = all(digit < size for digit, size in zip(digits, shape, strict=True))
        index = int(np.ravel_multi_index(tuple(digits), shape)) if seen and columns else 0
        expected.append(index if seen else NONE)
    values, n_values = map_part(group, np.array(columns, np.int64))
    assert values.tolist() == expected
    assert n_values == np.prod([cardinalities[c] for c in columns])
