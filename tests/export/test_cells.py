"""Cells hold the effects of a model under one integer each."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from deepbroad import AnJEClassifier
from deepbroad.data.table import read_table
from deepbroad.export import cells as cells_module
from deepbroad.export.cells import Cells
from deepbroad.export.effects import Effects
from tests.export.small_models import compact_model, fitted


def add_up(effects, cells, codes):
    """Return the sums of effects of rows of codes, cell by cell."""
    listed = dict(zip(cells.cells.tolist(), cells.scores, strict=True))
    sums = np.zeros((codes.shape[1], effects.n_scores))
    limits = np.array([column.cardinality for column in effects.columns])
    for members, strides, base in zip(cells.members, cells.strides, cells.bases, strict=True):
        for r, row in enumerate(codes.T.astype(np.int64)):
            if (row[members] < limits[members]).all():
                cell = int(base + strides @ row[members])
                sums[r] += listed.get(cell, 0.0)
    return sums


def assert_sums(model, table):
    effects = Effects.of(model)
    codes = model._encoding.encode(read_table(table))
    scores = model._scorer.scores(codes) - effects.intercept
    if effects.rescaling is not None:
        used = np.array(effects.used)
        limits = np.array([effects.columns[c].cardinality for c in effects.used])
        unseen = (codes[used] >= limits[:, None]).sum(axis=0)
        scores = scores / effects.rescaling[unseen][:, None]
    np.testing.assert_allclose(add_up(effects, Cells.of(effects), codes), scores, atol=1e-9)


@given(case=fitted())
def test_cells_add_up_to_the_scores_of_the_model(case):
    assert_sums(case.model, case.table)


def test_what_is_not_listed_is_a_cell_of_its_own():
    model, table = compact_model()
    cells = Cells.of(Effects.of(model))
    assert (cells.spaces[(cells.strides == 0).all(axis=1)] == 1).any()
    assert (np.diff(cells.cells) > 0).all()
    assert_sums(model, table)


def test_more_cells_than_integers_are_refused(monkeypatch):
    monkeypatch.setattr(cells_module, "MAX_CELL", 3)
    table = pa.table({"x": ["a", "b"], "z": ["p", "q"]})
    model = AnJEClassifier(n=1).fit(table, [0, 1])
    with pytest.raises(ValueError, match=r"2\*\*63"):
        Cells.of(Effects.of(model))
