"""The paper's models against implementations from outside: scikit-learn and SciPy."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

from deepbroad.engine.scoring import Scorer
from deepbroad.model.family import Family
from deepbroad.solvers import LBFGS
from tests import naive
from tests.engine.problems import draw_problem, objective_of

EXACT = LBFGS(max_iter=5000, tol=1e-9)

every_depth = pytest.mark.parametrize("n", [1, 2, 3])
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])
two_and_more_classes = pytest.mark.parametrize("n_classes", [2, 3])


def rows_to_predict(problem):
    """Return rows of known values, most of whose joint values training never had."""
    rng = np.random.default_rng(99)
    return np.stack([rng.integers(v, size=60) for v in problem.cardinalities]).astype(np.uint8)


def probabilities(model, codes):
    return Scorer(model).probabilities(codes)


@pytest.mark.parametrize("m", [0.5, 1.0, 4.0])
@with_and_without_weights
@two_and_more_classes
def test_a1je_is_one_categorical_naive_bayes_per_column(n_classes, weighted, m):
    problem = draw_problem(0, n_classes=n_classes, weighted=weighted)
    rows = rows_to_predict(problem)
    joint = np.tile(
        naive.log_pi(naive.count_classes(problem.labels, problem.omega, n_classes), m), (60, 1)
    )
    for column, codes in enumerate(problem.codes):
        v = int(problem.cardinalities[column])
        bayes = CategoricalNB(alpha=m / v, fit_prior=False, min_categories=v)
        bayes.fit(codes[:, None], problem.labels, sample_weight=problem.weights)
        joint += bayes.feature_log_prob_[0][:, rows[column]].T
    expected = naive.probabilities(joint)
    model = problem.training(1, [(0, 2), (1, 3)], smoothing=m).generative()
    np.testing.assert_allclose(probabilities(model, rows), expected, atol=1e-6)


@every_depth
@with_and_without_weights
@two_and_more_classes
def test_anje_is_the_formula(n, n_classes, weighted):
    problem = draw_problem(n, a=5, n_classes=n_classes, weighted=weighted)
    rows = rows_to_predict(problem)
    tables = naive.anje_tables(problem.codes, problem.labels, problem.omega, n, *problem.shape)
    expected = naive.score_rows(*tables, rows, problem.cardinalities)
    for dtype, tolerance in [(np.float64, 1e-12), (np.float32, 1e-6)]:
        model = problem.training(n, [(0, 4), (1, 2), (3,)], dtype=dtype).generative()
        found = probabilities(model, rows)
        np.testing.assert_allclose(found, naive.probabilities(expected), atol=tolerance)


@pytest.mark.parametrize(("a", "n"), [(4, 2), (6, 2), (6, 3), (4, 1), (4, 4)])
@with_and_without_weights
def test_anje_averages_all_partitions(a, n, weighted):
    problem = draw_problem(a + n, a=a, rows=30, weighted=weighted)
    expected = naive.anje_by_partitions(
        problem.codes, problem.labels, problem.omega, n, *problem.shape
    )
    found = probabilities(problem.training(n).generative(), problem.codes)
    np.testing.assert_allclose(found, naive.probabilities(expected), atol=1e-12)


@every_depth
@with_and_without_weights
@two_and_more_classes
def test_lr_is_logistic_regression_on_one_hot_tuples(n, n_classes, weighted):
    alpha = 0.5
    problem = draw_problem(n, rows=60, n_classes=n_classes, weighted=weighted)
    family = Family(generative=False, strength=alpha)
    model, solution = problem.training(n, [(0, 3), (1, 2)]).discriminative(family, EXACT)
    assert solution.status == "converged"
    oracle = LogisticRegression(C=(2 if n_classes == 2 else 1) / alpha, tol=1e-10, max_iter=10_000)
    features = naive.one_hot_tuples(problem.codes, n, problem.cardinalities)
    oracle.fit(features, problem.labels, sample_weight=problem.weights)
    for codes in (problem.codes, rows_to_predict(problem)):
        expected = oracle.predict_proba(naive.one_hot_tuples(codes, n, problem.cardinalities))
        np.testing.assert_allclose(probabilities(model, codes), expected, atol=1e-3)


@pytest.mark.parametrize("to_generative", [False, True])
@every_depth
@with_and_without_weights
@two_and_more_classes
def test_dbl_is_scipys_fit_on_explicit_features(n, n_classes, weighted, to_generative):
    problem = draw_problem(n, rows=50, n_classes=n_classes, weighted=weighted)
    family = Family(generative=True, strength=0.5, target=float(to_generative))
    model, solution = problem.training(n, [(0, 3), (1, 2)]).discriminative(family, EXACT)
    assert solution.status == "converged"
    fitted = naive.fit_dbl(problem, n, 0.5, to_generative=to_generative)
    for codes in (problem.codes, rows_to_predict(problem)):
        scores = naive.score_rows(*fitted, codes, problem.cardinalities)
        np.testing.assert_allclose(
            probabilities(model, codes), naive.probabilities(scores), atol=1e-3
        )


@every_depth
@two_and_more_classes
def test_single_precision_fits_agree_with_the_oracle_too(n, n_classes):
    problem = draw_problem(20 + n, rows=60, n_classes=n_classes)
    family = Family(generative=True, strength=0.5)
    training = problem.training(n, [(0, 3), (1, 2)], dtype=np.float32)
    model, _ = training.discriminative(family, EXACT)
    fitted = naive.fit_dbl(problem, n, 0.5, to_generative=False)
    scores = naive.score_rows(*fitted, problem.codes, problem.cardinalities)
    expected = naive.probabilities(scores)
    np.testing.assert_allclose(probabilities(model, problem.codes), expected, atol=1e-3)


@every_depth
@with_and_without_weights
def test_dbl_whose_strength_follows_its_squared_scale_is_lr(n, weighted):
    problem = draw_problem(30 + n, rows=60, weighted=weighted)
    training = problem.training(n, [(0, 1), (2, 3)])
    scale = training.log_likelihoods()
    ones, alpha = np.ones(scale.shape), 0.7
    dbl, _ = objective_of(
        training, scale=scale, start=ones, target=0 * ones, strength=alpha * scale**2,
        class_scale=training.log_priors, class_start=np.ones(3),
    )  # fmt: skip
    lr, _ = objective_of(
        training, scale=ones, start=0 * ones, target=0 * ones, strength=alpha * ones,
        class_scale=np.ones(3), class_start=np.zeros(3),
    )  # fmt: skip
    fitted = [LBFGS(max_iter=5000, tol=1e-13).minimise(f, f.start) for f in (dbl, lr)]
    assert fitted[0].loss == pytest.approx(fitted[1].loss, rel=1e-7)
    scores = [f.design.scale * f.split(s.u)[1] for f, s in zip((dbl, lr), fitted, strict=True)]
    centred = [beta - beta.mean(axis=1, keepdims=True) for beta in scores]
    np.testing.assert_allclose(centred[0], centred[1], atol=1e-3)


def test_the_start_of_dbl_is_anje():
    problem = draw_problem(3, weighted=True)
    for n in (1, 2, 3):
        training = problem.training(n)
        family = Family(generative=True, strength=1.0)
        with_no_steps, solution = training.discriminative(family, LBFGS(max_iter=0))
        found = probabilities(with_no_steps, problem.codes)
        np.testing.assert_allclose(
            found, probabilities(training.generative(), problem.codes), atol=1e-12
        )
        log_loss = -problem.omega @ np.log(found[np.arange(len(found)), problem.labels])
        reached = training.counts.any(axis=1).sum()
        p = {1: 1, 2: 3, 3: 3}[n]
        penalty = 0.5 * reached * problem.n_classes / p**2
        assert solution.loss == pytest.approx((log_loss + penalty) / problem.omega.sum())


@pytest.mark.parametrize("to_generative", [False, True])
def test_cells_that_no_row_reaches_stay_at_scale_times_target(to_generative):
    problem = draw_problem(4, rows=15)
    training = problem.training(2, [(0, 1), (2, 3)])
    family = Family(generative=True, strength=0.3, target=float(to_generative))
    model, _ = training.discriminative(family, LBFGS(max_iter=50))
    unreached = ~training.counts.any(axis=1)
    assert unreached.any()
    p = 3
    expected = training.log_likelihoods(np.flatnonzero(unreached)) / p if to_generative else 0.0
    np.testing.assert_allclose(model.scores[unreached], expected + np.zeros((unreached.sum(), 3)))


def test_a_stronger_penalty_towards_anje_ends_nearer_to_it():
    problem = draw_problem(5, rows=60)
    training = problem.training(2)
    distances = []
    for alpha in (0.01, 1.0, 100.0, 1e6):
        family = Family(generative=True, strength=alpha, target=1.0)
        model, _ = training.discriminative(family, EXACT)
        # The class terms are free, so compare the tables.
        difference = model.relative()[1] - training.generative().relative()[1]
        distances.append(np.abs(difference).max())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-3
