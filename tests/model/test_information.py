"""Scores of tuples, against their definitions, scikit-learn, SciPy and laws."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab
from sklearn.metrics import mutual_info_score

from deepbroad.kernels.threads import Threads
from deepbroad.model import information as module
from deepbroad.model.information import Scorer, score_terms, tuple_keys
from deepbroad.model.sample import Sample
from tests import naive_information as naive


@st.composite
def samples(draw, weighted=True):
    """Draw a sample of 4 columns and its cardinalities; codes may be unseen ones."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = draw(st.integers(1, 30))
    cardinalities = np.array(draw(st.lists(st.integers(1, 4), min_size=4, max_size=4)))
    codes = np.stack([rng.integers(v, size=rows) for v in cardinalities]).astype(np.uint8)
    n_classes = draw(st.integers(1, 3))
    labels = rng.integers(n_classes, size=rows).astype(np.uint8)
    weights = None
    if weighted and draw(st.booleans()):
        weights = rng.choice([0.0, 0.5, 1.0, 2.25], size=rows)
        weights[0] = 1.0
        codes[0, weights == 0] = cardinalities[0]
    return Sample(codes, labels, weights, n_classes), cardinalities


def tuples_of(n):
    return np.array(list(combinations(range(4), n)))


def draw_sample(rows=200, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(4, size=(n_columns, rows)).astype(np.uint8)
    labels = (codes[0] + codes[1] + rng.integers(2, size=rows)) % 3
    return Sample(codes, labels.astype(np.uint8), None, 3), np.full(n_columns, 4)


@given(samples(), st.integers(1, 4), st.sampled_from(["cmi", "chi2"]))
def test_scores_are_those_of_the_definition(drawn, n, criterion):
    sample, cardinalities = drawn
    scores = score_terms(sample, tuples_of(n), cardinalities, criterion=criterion)
    for i, t in enumerate(tuples_of(n).tolist()):
        assert scores.relevance[i] == pytest.approx(
            naive.relevance(sample, t, cardinalities), abs=1e-12
        )
        assert scores.gain[i] == pytest.approx(
            naive.gain(sample, t, cardinalities, criterion), abs=1e-12
        )


def test_scikit_learn_and_scipy_give_the_same_numbers():
    sample, cardinalities = draw_sample()
    joint = sample.codes[0].astype(int) * 4 + sample.codes[1]
    freedom = (len(np.unique(joint)) - 1) * 2 / 200
    by_information = score_terms(sample, np.array([[0, 1]]), cardinalities)
    expected = mutual_info_score(joint, sample.labels)
    assert by_information.relevance[0] == pytest.approx(expected - freedom / 2, abs=1e-12)
    by_chi_square = score_terms(sample, np.array([[0, 1]]), cardinalities, criterion="chi2")
    table = crosstab(joint, sample.labels).count
    statistic = chi2_contingency(table, correction=False).statistic
    assert by_chi_square.gain[0] == pytest.approx(statistic / 200 - freedom, abs=1e-12)


@given(samples(), st.integers(2, 4))
def test_information_before_its_correction_never_falls_when_a_column_joins(drawn, n):
    sample, cardinalities = drawn
    total = len(sample.labels) if sample.weights is None else sample.weights.sum()

    def raw(members):
        scores = score_terms(sample, np.array([members]), cardinalities)
        return scores.relevance[0] + naive.freedom(sample, members, cardinalities) / (2 * total)

    for t in combinations(range(4), n):
        assert all(raw(t) >= raw(part) - 1e-12 for part in combinations(t, n - 1))


@given(samples(weighted=False), st.integers(1, 3), st.integers(0, 10**6))
def test_weights_count_as_repeated_rows(drawn, n, seed):
    sample, cardinalities = drawn
    repeats = np.random.default_rng(seed).integers(4, size=len(sample.labels))
    repeats[0] = 1
    repeated = Sample(
        np.repeat(sample.codes, repeats, axis=1), np.repeat(sample.labels, repeats), None, 3
    )
    weighted = sample._replace(weights=repeats.astype(float))
    for criterion in ("cmi", "chi2"):
        a, b = (
            score_terms(s, tuples_of(n), cardinalities, criterion=criterion)
            for s in (repeated, weighted)
        )
        np.testing.assert_allclose(a.relevance, b.relevance, atol=1e-12)
        np.testing.assert_allclose(a.gain, b.gain, atol=1e-12)


@given(samples(), st.integers(0, 10**6))
def test_order_of_rows_and_names_of_codes_do_not_matter(drawn, seed):
    sample, cardinalities = drawn
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sample.labels))
    renamed = sample.codes.copy()
    for column, v in zip(renamed, cardinalities, strict=True):
        column[:] = np.append(rng.permutation(v), v)[column]
    weights = None if sample.weights is None else sample.weights[order]
    other = Sample(renamed[:, order], sample.labels[order], weights, sample.n_classes)
    a, b = (score_terms(s, tuples_of(3), cardinalities) for s in (sample, other))
    np.testing.assert_allclose(a.gain, b.gain, atol=1e-12)


def test_a_copy_of_a_column_gains_nothing():
    codes = draw_sample()[0].codes
    sample = Sample(np.concatenate([codes, codes[:1]]), codes[0] // 2, None, 2)
    for members in ([0, 6], [0, 1, 6]):
        scores = score_terms(sample, np.array([members]), np.full(7, 4))
        assert scores.gain[0] <= 1e-12
        assert scores.relevance[0] > 0.5


def test_parity_of_two_columns_gains_all():
    codes = np.array([[0, 0, 1, 1] * 10, [0, 1, 0, 1] * 10], np.uint8)
    sample = Sample(codes, codes[0] ^ codes[1], None, 2)
    scores = score_terms(sample, np.array([[0, 1]]), np.array([2, 2]))
    # The pair is corrected by 3/80, each column by 1/80.
    assert scores.gain[0] == pytest.approx(np.log(2) - 2 / 80)


@pytest.mark.parametrize("criterion", ["cmi", "chi2"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_threads_never_change_a_bit(n, criterion):
    sample, cardinalities = draw_sample()
    sample = sample._replace(weights=np.random.default_rng(1).random(200))
    members = np.array(list(combinations(range(6), n)))
    alone = score_terms(sample, members, cardinalities, criterion=criterion)
    for n_jobs in (1, 2, 3):
        with Threads(n_jobs) as threads:
            scores = score_terms(
                sample, members, cardinalities, criterion=criterion, threads=threads
            )
        np.testing.assert_array_equal(scores.relevance, alone.relevance)
        np.testing.assert_array_equal(scores.gain, alone.gain)


def test_parts_are_the_same_remembered_or_not(monkeypatch):
    sample, cardinalities = draw_sample()
    members = np.array(list(combinations(range(6), 3)))
    scorer = Scorer(sample, cardinalities)
    remembered = np.concatenate([scorer.score(members[:9]).gain, scorer.score(members[9:]).gain])
    monkeypatch.setattr(module, "MAX_REMEMBERED", 0)
    np.testing.assert_array_equal(Scorer(sample, cardinalities).score(members).gain, remembered)


def test_huge_cardinalities_are_scored_as_small_ones_are():
    sample, _ = draw_sample(rows=60)
    spread = sample.codes.astype(np.uint32) * 24_999
    members = np.array(list(combinations(range(6), 3)))
    a = score_terms(sample, members, np.full(6, 4))
    b = score_terms(sample._replace(codes=spread), members, np.full(6, 100_000))
    np.testing.assert_array_equal(a.gain, b.gain)


def test_keys_tell_tuples_apart_however_long_they_are():
    rng = np.random.default_rng(0)
    tuples = rng.integers(2, size=(200, 9)) * 999_999
    keys = tuple_keys(tuples, 1_000_000)
    _, expected = np.unique(tuples, axis=0, return_inverse=True)
    _, ours = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(ours, expected)


def test_no_rows_score_nothing():
    sample, cardinalities = draw_sample()
    scores = score_terms(sample._replace(weights=np.zeros(200)), tuples_of(2), cardinalities)
    assert not scores.relevance.any()
    assert not scores.gain.any()


def test_an_unknown_criterion_is_named():
    sample, cardinalities = draw_sample()
    with pytest.raises(ValueError, match="'gini'"):
        score_terms(sample, tuples_of(2), cardinalities, criterion="gini")
