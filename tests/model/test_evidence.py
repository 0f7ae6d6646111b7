"""Scores by counts, against the formula cell by cell."""

from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deepbroad.model.evidence import (
    N_FREQUENCIES,
    N_LIFTS,
    SMOOTHINGS,
    Evidence,
    class_shares,
    frequencies,
    log_lifts,
)

N_CLASSES = 3
counts_of_cells = arrays(np.float32, (5, N_CLASSES), elements=st.integers(0, 40))


def draw_evidence(seed, n_terms=2):
    rng = np.random.default_rng(seed)
    return Evidence(
        rng.normal(size=(n_terms, N_LIFTS)),
        rng.normal(size=(n_terms, N_FREQUENCIES, N_CLASSES)),
        class_shares(np.array([50.0, 3.0, 20.0])),
    )


@given(counts=counts_of_cells, seed=st.integers(0, 9))
def test_scores_are_those_of_the_formula(counts, seed):
    evidence = draw_evidence(seed)
    w, v, pi = evidence.of_lifts[1], evidence.of_frequencies[1], evidence.shares
    found = evidence.scores(1, counts)
    for cell, own in enumerate(counts.astype(float)):
        n = own.sum()
        h = log2(1 + n), float(n > 0), float(n > 1)
        for c in range(N_CLASSES):
            lifts = [log((own[c] + m * pi[c]) / ((n + m) * pi[c])) for m in SMOOTHINGS]
            expected = np.dot(w, lifts) + np.dot(v[:, c], h)
            assert found[cell, c] == pytest.approx(expected, abs=1e-9)


def test_a_cell_without_rows_scores_nothing():
    assert not draw_evidence(0).scores(0, np.zeros((1, N_CLASSES))).any()


def test_a_cell_with_the_shares_of_all_rows_has_no_lift():
    shares = np.array([0.5, 0.25, 0.25])
    np.testing.assert_allclose(log_lifts(8 * shares[None], shares), 0.0, atol=1e-12)


@given(counts=counts_of_cells)
def test_frequencies_do_not_depend_on_the_classes(counts):
    np.testing.assert_array_equal(frequencies(counts), frequencies(counts[:, ::-1]))


def test_shares_sum_to_one_and_no_class_has_none():
    shares = class_shares(np.array([10.0, 0.0]))
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0).all()
