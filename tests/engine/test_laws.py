"""Laws of the engine: fusion, weights, order, threads and never-seen values change nothing else."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deepbroad.data.source import BLOCK_ROWS
from deepbroad.engine.scoring import Scorer
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.solvers import LBFGS
from tests import naive
from tests.engine.problems import Problem, draw_problem, objective_of, partitions, problems

FAMILIES = {
    "LR": Family(generative=False, strength=0.5),
    "DBL to zero": Family(generative=True, strength=0.1),
    "DBL to AnJE": Family(generative=True, strength=0.1, target=1.0),
}


def all_scores(training, family=None, codes=None, max_iter=4):
    """Return scores (N, C - 1) of a model after a few iterations, AnJE without a family."""
    if family is None:
        model = training.generative()
    else:
        model, _ = training.discriminative(family, LBFGS(max_iter=max_iter, tol=0))
    return Scorer(model, rescale=family is None).scores(codes, 1).astype(float)


def random_pass(training, seed=0):
    """Return loss and gradient, per logical table, at random parameters (drawn per table)."""
    terms, n_classes = training.plan.terms, training.source.n_classes
    rng = np.random.default_rng(seed)
    shapes = naive.read_tables(terms, np.zeros((terms.n_cells, n_classes)))
    u = {columns: rng.normal(size=shapes[columns].shape) for columns in sorted(shapes)}
    scale = {columns: rng.normal(size=shapes[columns].shape) for columns in sorted(shapes)}
    ones = np.ones((terms.n_cells, n_classes))
    objective, reached = objective_of(
        training, scale=naive.write_tables(terms, scale), start=naive.write_tables(terms, u),
        target=0 * ones, strength=0.3 * ones, class_scale=np.ones(n_classes),
        class_start=rng.normal(size=n_classes),
    )  # fmt: skip
    value, flat = objective(objective.start)
    class_gradient, cells = objective.split(flat)
    gradient = np.zeros((terms.n_cells, n_classes))
    gradient[reached] = cells
    return value, class_gradient, naive.read_tables(terms, gradient)


# Fused equals unfused.


@given(problems(), st.data())
def test_fused_counts_are_exactly_those_of_single_columns(problem, data):
    n = data.draw(st.integers(1, min(4, len(problem.codes))))
    fused = problem.training(n, data.draw(partitions(len(problem.codes))))
    expected = naive.count_tuples(problem.codes, problem.labels, problem.omega, n, *problem.shape)
    for columns, table in naive.read_tables(fused.plan.terms, fused.counts).items():
        np.testing.assert_array_equal(table, expected[columns])
    classes = naive.count_classes(problem.labels, problem.omega, problem.n_classes)
    np.testing.assert_array_equal(fused.class_counts, classes)


@given(problems(), st.data())
def test_fused_loss_and_gradient_are_those_of_single_columns(problem, data):
    n = data.draw(st.integers(1, min(4, len(problem.codes))))
    partition = data.draw(partitions(len(problem.codes)))
    dtype, tolerance = data.draw(st.sampled_from([(np.float64, 1e-10), (np.float32, 3e-5)]))
    single = random_pass(problem.training(n, dtype=dtype))
    fused = random_pass(problem.training(n, partition, dtype=dtype))
    assert fused[0] == pytest.approx(single[0], rel=tolerance)
    np.testing.assert_allclose(fused[1], single[1], atol=tolerance)
    for columns, gradient in single[2].items():
        np.testing.assert_allclose(fused[2][columns], gradient, atol=tolerance)


@given(problems(), st.data())
def test_fused_scores_are_those_of_single_columns_for_any_row(problem, data):
    a = len(problem.codes)
    n = data.draw(st.integers(1, min(4, a)))
    partition = data.draw(partitions(a))
    dtype, tolerance = data.draw(st.sampled_from([(np.float64, 1e-10), (np.float32, 1e-4)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # Every code up to the cardinality itself: joint values and values that training never had.
    rows = np.stack([rng.integers(v + 1, size=30) for v in problem.cardinalities]).astype(np.uint8)
    single = all_scores(problem.training(n, dtype=dtype), codes=rows)
    fused = all_scores(problem.training(n, partition, dtype=dtype), codes=rows)
    np.testing.assert_allclose(fused, single, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("family", FAMILIES)
@given(problem=problems(max_rows=25), data=st.data())
@settings(max_examples=10)
def test_fused_fits_are_those_of_single_columns(family, problem, data):
    a = len(problem.codes)
    n = data.draw(st.integers(1, min(3, a)))
    partition = data.draw(partitions(a))
    rows = np.stack([np.arange(12) % (v + 1) for v in problem.cardinalities]).astype(np.uint8)
    single = all_scores(problem.training(n), FAMILIES[family], rows)
    fused = all_scores(problem.training(n, partition), FAMILIES[family], rows)
    np.testing.assert_allclose(fused, single, rtol=1e-6, atol=1e-6)


# Never-seen values and joint values.


@given(problems(), st.data())
def test_scores_of_never_seen_values_are_those_of_the_loop(problem, data):
    a = len(problem.codes)
    n = data.draw(st.integers(1, min(3, a)))
    training = problem.training(n, data.draw(partitions(a)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows = np.stack([rng.integers(v + 1, size=20) for v in problem.cardinalities]).astype(np.uint8)
    expected = naive.score_rows(
        *naive.anje_tables(problem.codes, problem.labels, problem.omega, n, *problem.shape),
        rows, problem.cardinalities, rescale=True,
    )  # fmt: skip
    scorer = Scorer(training.generative(), rescale=True)
    found = scorer.scores(rows, 1)
    np.testing.assert_allclose(found, expected[:, 1:] - expected[:, :1], atol=1e-10)
    np.testing.assert_allclose(
        scorer.probabilities(rows, 1), naive.probabilities(expected), atol=1e-10
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_fitted_models_score_never_seen_values_like_the_loop(n, family):
    problem = draw_problem(n, rows=20)
    training = problem.training(n, [(0, 3), (1, 2)])
    model, _ = training.discriminative(FAMILIES[family], LBFGS(max_iter=5))
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(v + 1, size=50) for v in problem.cardinalities]).astype(np.uint8)
    for rescale in (True, False):
        expected = naive.score_rows(
            model.class_scores, naive.read_tables(training.plan.terms, model.scores),
            rows, problem.cardinalities, rescale=rescale,
        )  # fmt: skip
        found = Scorer(model, rescale=rescale).scores(rows, 1)
        np.testing.assert_allclose(found, expected[:, 1:] - expected[:, :1], atol=1e-10)


def test_a_row_of_nothing_known_gets_the_class_probabilities():
    problem = draw_problem(0)
    rows = np.array(problem.cardinalities, np.uint8)[:, None]
    for n in (1, 2):
        model = problem.training(n).generative()
        expected = naive.log_pi(naive.count_classes(problem.labels, problem.omega, 3), 1.0)
        np.testing.assert_allclose(Scorer(model).probabilities(rows)[0], np.exp(expected))


# Weights.


@pytest.mark.parametrize("family", [None, *FAMILIES])
@given(problem=problems(max_rows=20), data=st.data())
@settings(max_examples=12)
def test_a_repeated_row_equals_weight_two(family, problem, data):
    n = data.draw(st.integers(1, 2))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=20, max_size=20)))
    times = times[: problem.codes.shape[1]]
    assume(times.any())
    plain = problem.rows(slice(None), weights=times.astype(float))
    repeated = Problem(
        problem.codes.repeat(times, axis=1), problem.labels.repeat(times), *problem.shape
    )
    rows = np.stack([np.arange(12) % (v + 1) for v in problem.cardinalities]).astype(np.uint8)
    by_weight = all_scores(plain.training(n, [*[(c,) for c in range(1, len(rows))], (0,)]),
                           FAMILIES.get(family), rows)  # fmt: skip
    by_rows = all_scores(repeated.training(n), FAMILIES.get(family), rows)
    np.testing.assert_allclose(by_weight, by_rows, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", [None, *FAMILIES])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_rows_of_weight_zero_are_as_if_absent(n, family):
    problem = draw_problem(n, rows=40, weighted=True)
    weights = problem.omega.copy()
    weights[::3] = 0
    kept = weights > 0
    with_zeros = problem.rows(slice(None), weights=weights)
    rows = np.stack([np.arange(12) % (v + 1) for v in problem.cardinalities]).astype(np.uint8)
    family = FAMILIES.get(family)
    found = all_scores(with_zeros.training(n, [(0, 1), (2, 3)]), family, rows)
    expected = all_scores(problem.rows(kept).training(n, [(0, 1), (2, 3)]), family, rows)
    np.testing.assert_allclose(found, expected, atol=1e-9)


# Order.


@pytest.mark.parametrize("family", [None, *FAMILIES])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_permuting_rows_columns_codes_or_classes_permutes_the_answer_only(n, family):
    problem = draw_problem(10 + n, rows=50, weighted=True)
    family = FAMILIES.get(family)
    rng = np.random.default_rng(n)
    to_predict = np.stack([rng.integers(v + 1, size=30) for v in problem.cardinalities])
    to_predict = to_predict.astype(np.uint8)
    expected = with_class_zero(all_scores(problem.training(n), family, to_predict))

    shuffled = problem.rows(rng.permutation(len(problem.labels)))
    found = with_class_zero(all_scores(shuffled.training(n), family, to_predict))
    np.testing.assert_allclose(found, expected, atol=1e-7)

    order = rng.permutation(len(problem.codes))
    moved = Problem(
        np.ascontiguousarray(problem.codes[order]), problem.labels, problem.cardinalities[order],
        problem.n_classes, problem.weights,
    )  # fmt: skip
    moved_rows = np.ascontiguousarray(to_predict[order])
    found = with_class_zero(all_scores(moved.training(n), family, moved_rows))
    np.testing.assert_allclose(found, expected, atol=1e-7)

    # The never-seen code keeps its place.
    renaming = [np.append(rng.permutation(v), v).astype(np.uint8) for v in problem.cardinalities]
    renamed = Problem(
        np.stack([new[old] for new, old in zip(renaming, problem.codes, strict=True)]),
        problem.labels, *problem.shape, problem.weights,
    )  # fmt: skip
    renamed_rows = np.stack([new[old] for new, old in zip(renaming, to_predict, strict=True)])
    found = with_class_zero(all_scores(renamed.training(n), family, renamed_rows))
    np.testing.assert_allclose(found, expected, atol=1e-7)

    classes = rng.permutation(problem.n_classes).astype(np.uint8)
    relabelled = Problem(problem.codes, classes[problem.labels], *problem.shape, problem.weights)
    found = with_class_zero(all_scores(relabelled.training(n), family, to_predict))[:, classes]
    np.testing.assert_allclose(found - found[:, :1], expected, atol=1e-6)


def with_class_zero(scores):
    return np.hstack([np.zeros((len(scores), 1)), scores])


# Two classes, loss curves, probabilities.


@given(problems(), st.integers(0, 1000))
def test_two_class_softmax_equals_binomial(problem, seed):
    labels = (problem.labels % 2).astype(np.uint8)
    problem = Problem(problem.codes, labels, problem.cardinalities, 2, problem.weights)
    training = problem.training(1)
    rng = np.random.default_rng(seed)
    cells = np.zeros((training.plan.terms.n_cells, 2))
    cells[:, 1] = rng.normal(size=len(cells))
    ones = np.ones(cells.shape)
    objective, _ = objective_of(
        training, scale=ones, start=cells, target=0 * ones, strength=0 * ones,
        class_scale=np.ones(2), class_start=np.array([0.0, 0.4]),
    )  # fmt: skip
    tables = naive.read_tables(training.plan.terms, cells)
    margins = 0.4 + sum(tables[(c,)][problem.codes[c], 1] for c in range(len(problem.codes)))
    signs = np.where(labels == 1, 1.0, -1.0)
    binomial = problem.omega @ np.log1p(np.exp(-signs * margins)) / problem.omega.sum()
    assert objective(objective.start)[0] == pytest.approx(binomial, rel=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
@given(problem=problems(), data=st.data())
@settings(max_examples=15)
def test_the_loss_never_rises_over_iterations(family, problem, data):
    n = data.draw(st.integers(1, 2))
    _, solution = problem.training(n).discriminative(FAMILIES[family], LBFGS(max_iter=30))
    curve = np.array(solution.loss_curve)
    assert (np.diff(curve) <= 1e-12 * np.abs(curve[:-1])).all()
    assert solution.loss == min(solution.evaluation_curve)


@given(problems(), st.data())
def test_probabilities_sum_to_one_and_are_never_negative(problem, data):
    n = data.draw(st.integers(1, min(3, len(problem.codes))))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    training = problem.training(n, dtype=dtype)
    rows = np.stack([np.arange(20) % (v + 1) for v in problem.cardinalities]).astype(np.uint8)
    model, _ = training.discriminative(FAMILIES["LR"], LBFGS(max_iter=5))
    for tables in (training.generative(), model):
        found = Scorer(tables).probabilities(rows)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
        assert (found >= 0).all()


# Threads.


@pytest.fixture(scope="module")
def large_problem():
    """More rows than one block has, few columns."""
    rng = np.random.default_rng(0)
    cardinalities = np.array([4, 3, 5, 2])
    rows = BLOCK_ROWS + 5000
    codes = np.stack([rng.integers(v, size=rows) for v in cardinalities]).astype(np.uint8)
    labels = ((codes[0] + codes[1] * codes[2] + rng.integers(2, size=rows)) % 3).astype(np.uint8)
    return Problem(codes, labels, cardinalities, 3, rng.uniform(0.5, 2, rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("partition", [None, [(0, 1), (2, 3)], [(0, 1, 2, 3)]])
def test_the_number_of_threads_changes_no_bit(large_problem, partition, dtype):
    results = []
    for count in (1, 2, 3):
        with Threads(count) as threads:
            training = large_problem.training(2, partition, dtype=dtype, threads=threads)
            passed = random_pass(training)
            model, solution = training.discriminative(FAMILIES["DBL to AnJE"], LBFGS(max_iter=2))
        scorer = Scorer(model)
        results.append(
            [
                training.counts,
                passed[0],
                passed[1],
                *passed[2].values(),
                solution.loss_curve,
                model.scores,
                scorer.scores(large_problem.codes, count),
                scorer.probabilities(large_problem.codes, count),
            ]
        )
    for other in results[1:]:
        for expected, found in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_sums_over_several_blocks_are_those_of_numpy(large_problem):
    training = large_problem.training(1, [(0, 1), (2, 3)], dtype=np.float32)
    for (column,), table in naive.read_tables(training.plan.terms, training.counts).items():
        place = large_problem.codes[column].astype(int) * 3 + large_problem.labels
        expected = np.bincount(place, large_problem.weights, minlength=table.size)
        np.testing.assert_allclose(table.ravel(), expected, rtol=1e-12)
    single = random_pass(large_problem.training(1, dtype=np.float32))
    double = random_pass(large_problem.training(1, dtype=np.float64))
    assert single[0] == pytest.approx(double[0], rel=1e-6)
    for columns, gradient in double[2].items():
        np.testing.assert_allclose(single[2][columns], gradient, atol=1e-6)
