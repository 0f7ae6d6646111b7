"""Orders 1..n in one model: any plan is the same model, and the model is that of the oracles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from deepbroad.engine.scoring import Scorer
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.generative import partition_weights
from deepbroad.model.objective import Objective
from deepbroad.model.strengths import Strengths
from deepbroad.solvers import LBFGS
from tests import naive, naive_hierarchy
from tests.engine.hierarchies import draw_nested, plans, read_model, single_plan, train
from tests.engine.problems import objective_of

EXACT = LBFGS(max_iter=5000, tol=1e-12)
LEVELS = [(3,), (2, 1), (3, 2), (2, 2, 1)]
FAMILIES = {
    "LR": Family(generative=False, strength=0.0),
    "hDBL": Family(generative=True, strength=0.0, by_score=True, backs_off=True),
    "hDBL to AnJE": Family(
        generative=True, strength=0.0, target=1.0, by_score=True, backs_off=True
    ),
}
seeds = st.integers(0, 2**16)


def family_of(name, levelled, by_order=(0.5, 4.0, 9.0), growth=1.5):
    strengths = Strengths(by_order[: levelled.terms.members.shape[1]], growth)
    return FAMILIES[name].shared_out(levelled.shares, strengths.per_term(levelled))


def tuples_of(levelled):
    return [levelled.terms.tuple(t) for t in range(len(levelled.terms))]


def grid_rows(problem, seed=0, rows=60):
    """Return rows of any codes, never-seen values and joint values that no training row had."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(v + 1, size=rows) for v in problem.cardinalities]).astype(
        np.uint8
    )


def relative(scores):
    return scores[:, 1:] - scores[:, :1]


# Any plan is the same model.


@given(seed=seeds, levels=st.sampled_from(LEVELS), weighted=st.booleans(), data=st.data())
def test_counts_are_those_of_the_loop(seed, levels, weighted, data):
    problem = draw_nested(seed, weighted=weighted)
    levelled = problem.levelled(levels)
    training = train(problem, data.draw(plans(problem, levelled.terms)))
    expected = naive_hierarchy.count_tables(problem, tuples_of(levelled))
    terms, compact = training.plan.terms, training.plan.compact_groups
    for term in range(len(terms)):
        columns = terms.tuple(term)
        table = expected[tuple(sorted(columns))].transpose(*np.argsort(np.argsort(columns)), -1)
        found = training.counts[terms.offsets[term] : terms.offsets[term + 1]]
        if term in compact:
            place = [list(compact[term].columns).index(c) for c in columns]
            seen = table[tuple(compact[term].digits[place])]
            np.testing.assert_array_equal(found[:-1], seen)
            assert seen.sum() == table.sum()
        else:
            np.testing.assert_array_equal(found, table.reshape(found.shape))


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=seeds, levels=st.sampled_from(LEVELS), data=st.data())
@settings(max_examples=15)
def test_any_plan_fits_the_model_of_single_tables(name, seed, levels, data):
    problem = draw_nested(seed, weighted=True)
    levelled = problem.levelled(levels)
    family = family_of(name, levelled)
    rows = grid_rows(problem, seed)
    few = LBFGS(max_iter=6, tol=0)
    expected, one = train(problem, single_plan(problem, levelled.terms)).discriminative(family, few)
    plan = data.draw(plans(problem, levelled.terms))
    found, other = train(problem, plan).discriminative(family, few)
    np.testing.assert_allclose(other.loss_curve, one.loss_curve, rtol=1e-8)
    np.testing.assert_allclose(
        Scorer(found).scores(rows, 1), Scorer(expected).scores(rows, 1), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=seeds, levels=st.sampled_from(LEVELS), data=st.data())
@settings(max_examples=15)
def test_rows_are_scored_as_by_the_loop(name, seed, levels, data):
    problem = draw_nested(seed, rows=20)
    levelled = problem.levelled(levels)
    training = train(problem, data.draw(plans(problem, levelled.terms)))
    model, _ = training.discriminative(family_of(name, levelled), LBFGS(max_iter=3))
    rows = grid_rows(problem, seed)
    expected = naive.score_rows(*read_model(model), rows, problem.cardinalities)
    np.testing.assert_allclose(Scorer(model).scores(rows, 1), relative(expected), atol=1e-10)


@given(seed=seeds, levels=st.sampled_from(LEVELS), data=st.data())
@settings(max_examples=20)
def test_loss_and_gradient_are_those_of_the_loop(seed, levels, data):
    problem = draw_nested(seed, rows=25, weighted=True)
    terms = problem.levelled(levels).terms
    plan = data.draw(plans(problem, terms).filter(lambda plan: not plan.terms.is_compact.any()))
    training = train(problem, plan)
    terms, n_classes = training.plan.terms, problem.n_classes
    counts = naive_hierarchy.count_tables(
        problem, [tuple(sorted(terms.tuple(t))) for t in range(len(terms))]
    )
    rng = np.random.default_rng(seed)
    draw = {name: {c: rng.normal(size=t.shape) for c, t in counts.items()} for name in "us"}
    ones = {columns: np.ones(table.shape) for columns, table in counts.items()}
    design = {
        "class_scale": np.array([0.5, -1.0, 2.0]),
        "scale": draw["s"],
        "target": {columns: 0.2 * one for columns, one in ones.items()},
        "strength": {columns: len(columns) * one for columns, one in ones.items()},
        "reached": {
            columns: np.broadcast_to(table.any(axis=-1)[..., None], table.shape)
            for columns, table in counts.items()
        },
    }
    class_u = rng.normal(size=n_classes)
    arrays = {
        name: naive.write_tables(terms, design[name]) for name in ("scale", "target", "strength")
    }
    objective, reached = objective_of(
        training, **arrays, start=naive.write_tables(terms, draw["u"]),
        class_scale=design["class_scale"], class_start=class_u,
    )  # fmt: skip
    value, flat = objective(objective.start)
    class_gradient, cells = objective.split(flat)
    expected, class_expected, tables = naive.objective(
        class_u, draw["u"], design, problem.codes, problem.labels, problem.omega,
        problem.cardinalities,
    )  # fmt: skip
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(class_gradient, class_expected, atol=1e-10)
    np.testing.assert_allclose(cells, naive.write_tables(terms, tables)[reached], atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bit(dtype):
    problem = draw_nested(3, rows=3000, weighted=True)
    levelled = problem.levelled((3, 2, 1))
    plan = single_plan(problem, levelled.terms)
    family = family_of("hDBL to AnJE", levelled)
    scores = []
    for count in (1, 2, 3):
        with Threads(count) as threads:
            training = train(problem, plan, threads=threads, dtype=dtype)
            scores.append(training.discriminative(family, LBFGS(max_iter=4))[0].scores)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


# The model is that of the oracles.


@pytest.mark.parametrize("name", ["hDBL", "hDBL to AnJE"])
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (3, True)])
def test_the_hierarchy_is_scipys_fit_on_explicit_features(levels, name, n_classes, weighted):
    problem = draw_nested(len(levels), rows=40, n_classes=n_classes, weighted=weighted)
    levelled = problem.levelled(levels)
    family = family_of(name, levelled)
    training = train(problem, single_plan(problem, levelled.terms))
    model, solution = training.discriminative(family, EXACT)
    assert solution.status == "converged"
    tuples = tuples_of(levelled)
    fitted = naive_hierarchy.fit_hierarchy(
        problem,
        dict(zip(tuples, family.strength, strict=True)),
        naive_hierarchy.evidence_weights(tuples, problem.attributes.tolist()),
        to_generative=name == "hDBL to AnJE",
    )
    for rows in (problem.codes, grid_rows(problem)):
        expected = naive.score_rows(*fitted, rows, problem.cardinalities)
        found = Scorer(model).probabilities(rows)
        np.testing.assert_allclose(found, naive.probabilities(expected), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_orders_one_and_two_are_logistic_regression_on_one_hot_tuples(n_classes):
    problem = draw_nested(5, rows=60, n_classes=n_classes, weighted=True)
    levelled = problem.levelled((2, 1))
    tuples, alpha = tuples_of(levelled), 0.7
    oracle = LogisticRegression(C=(2 if n_classes == 2 else 1) / alpha, tol=1e-10, max_iter=10_000)
    features = naive_hierarchy.one_hot(problem.codes, tuples, problem.cardinalities)
    # A column times 1/√k is one with k times the strength.
    features = features / np.sqrt(np.repeat(levelled.copies, levelled.terms.sizes))
    oracle.fit(features, problem.labels, sample_weight=problem.weights)
    expected = oracle.predict_proba(features)
    training = train(problem, single_plan(problem, levelled.terms))
    for name in ("LR", "hDBL"):
        family = family_of(name, levelled, (alpha, alpha), growth=1.0)
        model, _ = training.discriminative(family, EXACT)
        found = Scorer(model).probabilities(problem.codes)
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("levels", LEVELS)
def test_strengths_of_scores_towards_zero_are_those_of_logistic_regression(levels):
    problem = draw_nested(7, rows=60, weighted=True)
    levelled = problem.levelled(levels)
    training = train(problem, single_plan(problem, levelled.terms))
    models = [
        training.discriminative(family_of(name, levelled), LBFGS(max_iter=5000, tol=1e-13))
        for name in ("LR", "hDBL")
    ]
    assert models[1][1].loss == pytest.approx(models[0][1].loss, rel=1e-7)
    scores = [relative(model.scores) for model, _ in models]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-3)


def test_a_different_strength_per_order_matters():
    problem = draw_nested(8, rows=60)
    levelled = problem.levelled((2, 2))
    training = train(problem, single_plan(problem, levelled.terms))
    pairs = np.repeat(levelled.terms.orders == 2, levelled.terms.sizes)
    sizes = []
    for by_order in [(1.0, 1.0), (1.0, 1e5)]:
        model, _ = training.discriminative(family_of("hDBL", levelled, by_order), EXACT)
        sizes.append(np.abs(relative(model.scores))[pairs].max())
    assert sizes[1] < 1e-3 < 0.1 < sizes[0]


# The start and what no row reaches.


@pytest.mark.parametrize("levels", LEVELS)
def test_the_start_weighs_the_evidence_once(levels):
    problem = draw_nested(1, weighted=True)
    levelled = problem.levelled(levels)
    training = train(problem, single_plan(problem, levelled.terms))
    family = family_of("hDBL to AnJE", levelled)
    model, _ = training.discriminative(family, LBFGS(max_iter=0))
    weights = naive_hierarchy.evidence_weights(tuples_of(levelled), problem.attributes.tolist())
    class_counts = naive.count_classes(problem.labels, problem.omega, problem.n_classes)
    counts = naive_hierarchy.count_tables(problem, weights)
    tables = {c: weights[c] * naive.log_theta(counts[c], class_counts, 1.0) for c in weights}
    expected = naive.score_rows(
        naive.log_pi(class_counts, 1.0), tables, problem.codes, problem.cardinalities
    )
    found = Scorer(model).probabilities(problem.codes)
    np.testing.assert_allclose(found, naive.probabilities(expected), atol=1e-12)


def test_orders_on_columns_of_their_own_start_at_the_mean_of_their_anje():
    problem = draw_nested(2)
    own = np.array([0, 2, 6, 7, 8, 10])  # the unshifted ones
    sizes = problem.cardinalities[own]
    problem = type(problem)(
        problem.codes[own], problem.labels, sizes, problem.n_classes, attributes=np.arange(6)
    )
    levelled = problem.levelled((1, 1))
    training = train(problem, single_plan(problem, levelled.terms))
    family = family_of("hDBL", levelled)
    design = training.design(family)
    objective = Objective(design, training.loss_pass(family, design), 1.0)
    classes, cells = objective.split(objective.start)
    scores = np.zeros(training.counts.shape)
    scores[training.reached] = cells * design.scale
    model = training.scored(family, classes * design.class_scale, scores)
    anje = [
        naive.score_rows(
            *naive.anje_tables(problem.codes, problem.labels, problem.omega, n, *problem.shape),
            problem.codes,
            problem.cardinalities,
        )
        for n in (1, 2)
    ]
    found = Scorer(model).scores(problem.codes, 1)
    np.testing.assert_allclose(found, relative((anje[0] + anje[1]) / 2), atol=1e-10)


@pytest.mark.parametrize("backs_off", [False, True])
def test_joint_values_that_no_row_has_back_off_to_their_parts(backs_off):
    problem = draw_nested(4, rows=12)
    # A value of the category that has cells, though no row of this training set shows it.
    category = problem.codes[7]
    category[category == 2] = 1
    levelled = problem.levelled((2, 2))
    terms = levelled.terms
    training = train(problem, single_plan(problem, terms))
    family = family_of("hDBL to AnJE", levelled)
    if not backs_off:
        family = Family(
            generative=True, strength=family.strength, start=family.start, target=family.target
        )
    model, _ = training.discriminative(family, LBFGS(max_iter=5))
    weights = np.repeat(levelled.shares * partition_weights(terms), terms.sizes)[:, None]
    unreached = ~training.counts.any(axis=1)
    single = np.repeat(terms.orders == 1, terms.sizes)
    generative = weights * training.log_likelihoods()
    assert (unreached & single).any()
    assert (unreached & ~single).any()
    np.testing.assert_allclose(
        model.scores[unreached & single], generative[unreached & single], rtol=1e-12
    )
    expected = 0.0 if backs_off else generative[unreached & ~single]
    np.testing.assert_allclose(
        model.scores[unreached & ~single],
        np.broadcast_to(expected, model.scores[unreached & ~single].shape),
        rtol=1e-12,
    )
