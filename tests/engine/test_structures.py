"""Models of structures, counted and fitted, against loops and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.source import ArraySource
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.objective import Objective
from deepbroad.model.structure import children_of, structure_terms
from deepbroad.solvers import LBFGS
from tests import naive
from tests.engine.problems import draw_problem, problems

EXACT = LBFGS(max_iter=5000, tol=1e-9)
TREE = [(1,), (), (1,), (2,)]
DEEP = [(), (0,), (0, 1), (0, 2)]
every_structure = pytest.mark.parametrize("parents", [TREE, DEEP, [()] * 4])
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def train(problem, parents, plan="single", *, dtype=np.float64, smoothing=1.0, **options):
    terms = structure_terms(parents, problem.cardinalities)
    made = getattr(Planner(problem.source(), terms, **options), plan)()
    return Training(
        group_source(problem.source(), made),
        made,
        smoothing=smoothing,
        dtype=np.dtype(dtype),
        threads=Threads(1),
    )


def family_of(training, **options):
    return Family(generative=True, children=children_of(training.plan.terms), **options)


def probabilities(model, codes):
    return Scorer(model).probabilities(codes)


@given(problems(), st.sampled_from(["single", "cheapest"]), st.floats(0.1, 3), st.data())
def test_counted_models_are_the_formula_on_any_rows(problem, plan, m, data):
    a = len(problem.codes)
    order = data.draw(st.permutations(range(a)))
    parents = [()] * a
    for place, child in enumerate(order):
        chosen = data.draw(st.sets(st.sampled_from(order[:place]), max_size=2)) if place else set()
        parents[child] = tuple(chosen)
    training = train(problem, parents, plan, smoothing=m)
    model = training.generative(children_of(training.plan.terms))
    # Every value, and the one that training never saw.
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(v + 1, size=30) for v in problem.cardinalities])
    tables = naive.structure_tables(
        problem.codes, problem.labels, problem.omega, parents, *problem.shape, m
    )
    expected = naive.probabilities(naive.score_rows(*tables, codes, problem.cardinalities))
    np.testing.assert_allclose(probabilities(model, codes), expected, atol=1e-9)


@every_structure
def test_single_precision_is_near(parents):
    problem = draw_problem(1, weighted=True)
    models = [
        training.generative(children_of(training.plan.terms))
        for training in (train(problem, parents, dtype=kind) for kind in (np.float32, np.float64))
    ]
    found, expected = (probabilities(model, problem.codes) for model in models)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("root", range(4))
def test_the_root_of_a_tree_does_not_matter(root):
    problem = draw_problem(2, weighted=True)
    edges = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}
    parents, waiting = {root: ()}, [root]
    while waiting:
        i = waiting.pop()
        for j in edges[i]:
            if j not in parents:
                parents[j] = (i,)
                waiting.append(j)
    scores = [
        probabilities(training.generative(children_of(training.plan.terms)), problem.codes)
        for training in (train(problem, p) for p in (TREE, [parents[i] for i in range(4)]))
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)


@pytest.mark.parametrize("to_generative", [False, True])
@every_structure
@with_and_without_weights
def test_elr_is_scipys_fit_on_explicit_features(parents, weighted, to_generative):
    problem = draw_problem(5, rows=50, weighted=weighted)
    training = train(problem, parents, "cheapest")
    family = family_of(training, strength=0.5, target=float(to_generative))
    model, solution = training.discriminative(family, EXACT)
    assert solution.status == "converged"
    fitted = naive.fit_elr(problem, parents, 0.5, to_generative=to_generative)
    rng = np.random.default_rng(99)
    others = np.stack([rng.integers(v, size=60) for v in problem.cardinalities]).astype(np.uint8)
    for codes in (problem.codes, others):
        expected = naive.probabilities(naive.score_rows(*fitted, codes, problem.cardinalities))
        np.testing.assert_allclose(probabilities(model, codes), expected, atol=1e-3)


@pytest.mark.parametrize("to_generative", [False, True])
@every_structure
@with_and_without_weights
def test_objective_and_gradient_of_elr_are_those_of_loops(parents, weighted, to_generative):
    problem = draw_problem(6, rows=40, weighted=weighted)
    training = train(problem, parents)
    terms, target = training.plan.terms, float(to_generative)
    family = family_of(training, strength=0.7, target=target)
    reached = np.flatnonzero(training.counts.any(axis=1))
    design = training.design(family)
    run_pass = training.loss_pass(family, design)
    function = Objective(design, run_pass, float(problem.omega.sum()))
    u = function.start + np.random.default_rng(0).normal(size=len(function.start)) / 3
    loss, gradient = function(u)
    class_u, cells_u = function.split(u)
    log_pi, thetas = naive.structure_tables(
        problem.codes, problem.labels, problem.omega, parents, *problem.shape
    )
    full = np.full(training.counts.shape, target)
    full[reached] = cells_u
    is_reached = np.repeat(training.counts.any(axis=1)[:, None], problem.n_classes, axis=1)
    tables_u = naive.read_tables(terms, full)
    naive_design = {
        "class_scale": log_pi,
        "scale": thetas,
        "target": {columns: np.full(t.shape, target) for columns, t in thetas.items()},
        "strength": {columns: np.full(t.shape, 0.7) for columns, t in thetas.items()},
        "reached": naive.read_tables(terms, is_reached),
    }
    expected, by_class, by_cell = naive.objective(
        class_u, tables_u, naive_design, problem.codes, problem.labels, problem.omega,
        problem.cardinalities,
    )  # fmt: skip
    assert loss == pytest.approx(expected, rel=1e-12)
    found_class, found_cells = function.split(gradient)
    np.testing.assert_allclose(found_class, by_class, atol=1e-12)
    np.testing.assert_allclose(found_cells, naive.write_tables(terms, by_cell)[reached], atol=1e-12)


@every_structure
def test_the_start_of_elr_is_the_counted_model(parents):
    problem = draw_problem(7, weighted=True)
    training = train(problem, parents)
    family = family_of(training, strength=1.0, target=1.0)
    start, _ = training.discriminative(family, LBFGS(max_iter=0))
    counted = training.generative(family.children)
    np.testing.assert_allclose(start.scores, counted.scores, atol=1e-12)
    np.testing.assert_allclose(start.class_scores, counted.class_scores, atol=1e-12)


def test_compact_tables_differ_from_dense_ones_in_joint_values_never_seen_alone():
    rng = np.random.default_rng(0)
    cardinalities = np.array([60, 90])
    codes = np.stack([rng.integers(v, size=400) for v in cardinalities]).astype(np.uint8)
    labels = (codes[0] + codes[1] + rng.integers(2, size=400)) % 3
    source = ArraySource(codes, labels, 3, cardinalities)
    terms = structure_terms([(), (0,)], cardinalities)
    models = []
    for compact in (True, False):
        plan = Planner(source, terms, compact=compact).single()
        training = Training(
            group_source(source, plan), plan, smoothing=1.0, dtype=np.dtype(float),
            threads=Threads(1),
        )  # fmt: skip
        models.append(training.generative(children_of(plan.terms)))
    assert models[0].plan.terms.is_compact.any()
    compact, dense = (probabilities(model, codes) for model in models)
    np.testing.assert_allclose(compact, dense, atol=1e-12)
    # A joint value that no row has tells nothing: what is left is naive Bayes on the parent.
    seen = {*zip(*codes.tolist(), strict=True)}
    pair = next((i, j) for i in range(60) for j in range(90) if (i, j) not in seen)
    found = models[0].table((0, 1))[pair]
    np.testing.assert_allclose(found, np.full(3, -np.log(90)), atol=1e-12)


def test_maximum_likelihood_is_refused_where_a_count_is_zero():
    training = train(draw_problem(0, rows=12), TREE, smoothing=0.0)
    with pytest.raises(ValueError, match="smoothing=0 takes the logarithm of 0"):
        training.generative(children_of(training.plan.terms))
