"""Cells of rows are those that counts are of, kept or listed block by block."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.engine import cell_list
from deepbroad.engine.cell_list import CellList
from deepbroad.kernels.threads import Threads
from tests.engine.hierarchies import draw_nested, plans, single_plan, train
from tests.engine.problems import ONE_THREAD

LEVELS = (2, 1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(cell_list, "TILE", 3)
    monkeypatch.setattr(cell_list, "BLOCK_BYTES", 500)


@given(st.data())
@settings(max_examples=20)
def test_cells_are_those_that_counts_are_of(data):
    seed = data.draw(st.integers(0, 99))
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0], size=50)
    problem = replace(draw_nested(seed), weights=weights)
    training = train(problem, data.draw(plans(problem, problem.levelled(LEVELS).terms)))
    if training.plan.items is not None:
        return
    source, reached = training.source, training.reached
    rows = np.flatnonzero(source.weights)
    for is_kept in (True, False):
        with Threads(3) as threads:
            cells = CellList(source, rows, training.plan, reached, is_kept=is_kept, threads=threads)
            counts = np.zeros((len(reached), source.n_classes))
            for block in cells.blocks():
                own = rows[block.rows]
                np.add.at(
                    counts,
                    (block.cells, source.labels[own][:, None]),
                    source.weights[own][:, None],
                )
        np.testing.assert_allclose(counts, training.counts[reached], rtol=1e-6)


@pytest.mark.parametrize("is_kept", [True, False])
def test_each_row_is_in_one_block(is_kept):
    problem = draw_nested(1)
    training = train(problem, single_plan(problem, problem.levelled(LEVELS).terms))
    rows = np.arange(training.source.n_rows)
    cells = CellList(
        training.source, rows, training.plan, training.reached, is_kept=is_kept, threads=ONE_THREAD
    )
    in_order = list(cells.blocks())
    shuffled = list(cells.blocks(np.random.default_rng(0)))
    assert len(in_order) == len(shuffled) == 1 if is_kept else len(in_order) > 3
    np.testing.assert_array_equal(np.concatenate([b.rows for b in in_order]), rows)
    drawn = np.concatenate([block.rows for block in shuffled])
    np.testing.assert_array_equal(np.sort(drawn), rows)
    whole = np.concatenate([block.cells for block in in_order])
    for block in shuffled:
        np.testing.assert_array_equal(block.cells, whole[block.rows])
    assert is_kept or not np.array_equal(drawn, rows)
