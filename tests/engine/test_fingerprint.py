"""Fingerprints are those of the rows, whatever their order and place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data import source as source_module
from deepbroad.data.source import ArraySource
from deepbroad.engine.fingerprint import fingerprint_rows
from deepbroad.kernels.threads import Threads

THREADS = Threads(1)
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, (4, 30)).astype(np.uint8)
LABELS = RNG.integers(0, 2, 30).astype(np.uint8)
WEIGHTS = RNG.random(30)


def fingerprint(codes=CODES, labels=LABELS, weights=WEIGHTS):
    source = ArraySource(codes, labels, 2, np.full(len(codes), 3), weights)
    return fingerprint_rows(source, THREADS)


@given(st.permutations(range(30)))
def test_the_order_of_rows_does_not_matter(order):
    assert fingerprint(CODES[:, order], LABELS[order], WEIGHTS[order]) == fingerprint()


def test_neither_blocks_nor_types_matter_nor_rows_of_no_weight(monkeypatch):
    whole = fingerprint()
    monkeypatch.setattr(source_module, "BLOCK_ROWS", 7)
    assert fingerprint(CODES.astype(np.uint16)) == whole
    more = np.append(CODES, CODES[:, :1], axis=1), np.append(LABELS, 1), np.append(WEIGHTS, 0.0)
    assert fingerprint(*more) == whole


@given(st.integers(0, 3), st.integers(0, 29), st.integers(0, 29))
def test_any_other_value_label_or_weight_shows(column, row, other):
    whole = fingerprint()
    codes, labels, weights = CODES.copy(), LABELS.copy(), WEIGHTS.copy()
    codes[column, row] = (codes[column, row] + 1) % 3
    labels[row] ^= 1
    weights[row] *= 1 + 1e-15
    assert len({whole, fingerprint(codes), fingerprint(labels=labels)}) == 3
    assert (fingerprint(weights=weights) == whole) == (weights[row] == WEIGHTS[row])
    swapped = LABELS.copy()
    swapped[[row, other]] = swapped[[other, row]]
    same = LABELS[row] == LABELS[other]
    if same or (CODES[:, row] != CODES[:, other]).any():
        assert (fingerprint(labels=swapped) == whole) == same


@pytest.mark.parametrize("weights", [None, np.ones(30)])
def test_no_weights_are_ones(weights):
    assert fingerprint(weights=weights) == fingerprint(weights=None) != fingerprint()
