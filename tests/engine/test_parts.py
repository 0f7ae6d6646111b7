"""Rows in several parts give what they give in one: counts, passes, plans and fits."""

import numpy as np
import pytest

import deepbroad.data.source as source_module
from deepbroad.engine import passes, scatter
from deepbroad.engine.choice import EFFORTS, choose
from deepbroad.engine.passes import count_cells
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.provision import Wish, provide
from deepbroad.engine.sampling import sample_codes
from deepbroad.engine.scoring import Scorer
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS
from tests.engine.problems import draw_problem
from tests.parted import Parts

ONE = Threads(1)


def problem_and_parts(weighted=False, rows=400, largest=6):
    problem = draw_problem(5, a=4, rows=rows, weighted=weighted, largest=largest)
    source = problem.source()
    return problem, source, Parts.of(source, [1, 130, 131, 300])


def training_of(source, plan):
    return Training(
        group_source(source, plan), plan, smoothing=1.0, dtype=np.dtype(np.float64), threads=ONE
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_fits_agree(n, weighted):
    problem, source, parts = problem_and_parts(weighted)
    terms = Terms.of_order(n, source.cardinalities)
    plan, parted = Planner(source, terms).fused(), Planner(parts, terms).fused()
    whole, split = training_of(source, plan), training_of(parts, parted)
    np.testing.assert_allclose(split.class_counts, whole.class_counts)
    family = Family(generative=True, strength=0.1, target=1.0)
    solver = LBFGS(max_iter=15)
    expected, _ = whole.discriminative(family, solver)
    found, _ = split.discriminative(family, solver)
    np.testing.assert_allclose(
        Scorer(found).probabilities(problem.codes),
        Scorer(expected).probabilities(problem.codes),
        atol=1e-9,
    )


def test_single_precision_fits_do_not_depend_on_parts_or_the_order_of_rows():
    _, source, parts = problem_and_parts(rows=3000)
    shuffled = source.take(np.random.default_rng(0).permutation(source.n_rows))
    terms = Terms.of_order(2, source.cardinalities)
    found = []
    for rows in (source, parts, shuffled):
        plan = Planner(rows, terms).fused()
        training = Training(
            group_source(rows, plan), plan, smoothing=1.0, dtype=np.dtype(np.float32), threads=ONE
        )
        family = Family(generative=True, strength=0.01)
        model, _ = training.discriminative(family, LBFGS(max_iter=40, tol=0.0))
        found.append(model.scores)
    assert found[0].dtype == np.float32
    # Sums in single precision would differ by a share of 1e-6, and forty iterations later by 1e-3.
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(("largest", "rounded"), [(3, "spans"), (9, "rows")])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_whole_spans_change_no_bit(monkeypatch, weighted, dtype, exact, largest, rounded):
    for module in (source_module, passes, scatter):
        monkeypatch.setattr(module, "BLOCK_ROWS", 128)
    monkeypatch.setattr(scatter, "SPAN_ROWS", 256)
    problem = draw_problem(5, a=4, rows=2900, weighted=weighted, largest=largest)
    if weighted:
        problem.weights[:] = np.random.default_rng(0).gamma(1.0, size=2900)
    source = problem.source()
    plan = Planner(source, Terms.of_order(2, source.cardinalities)).single()
    assert scatter.plan_sums(plan, 2900, 2, np.dtype(dtype), exact=exact).rounded == rounded
    family = Family(generative=True, strength=0.01)
    results = []
    for bounds in ([], [256], [512, 768, 2048], range(256, 2600, 256)):
        rows = Parts.of(source, bounds) if bounds else source
        training = Training(
            group_source(rows, plan), plan, smoothing=1.0, dtype=np.dtype(dtype), threads=ONE
        )
        model, solution = training.discriminative(
            family, LBFGS(max_iter=40, tol=1e-9 if exact else 1e-5)
        )
        results.append((training.class_counts, training.counts, solution.loss_curve, model.scores))
    assert len(results[0][2]) > 5
    for other in results[1:]:
        for expected, found in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("min_count", [1, 3])
def test_compact_tables_count_joint_values_over_all_parts(min_count):
    _, source, parts = problem_and_parts(largest=12)
    terms = Terms.of_order(3, source.cardinalities)
    plans = [
        Planner(rows, terms, min_count=min_count, small=1).single() for rows in (source, parts)
    ]
    assert plans[0].terms.is_compact.any()
    for a, b in zip(plans[0].groups, plans[1].groups, strict=True):
        np.testing.assert_array_equal(a.keys, b.keys)
    counts = [
        count_cells(group_source(rows, plans[0]), plans[0], ONE)[1] for rows in (source, parts)
    ]
    np.testing.assert_array_equal(*counts)


@pytest.mark.parametrize("rows", [7, 100, 1000])
def test_a_sample_is_the_same_however_rows_are_parted(rows):
    _, source, parts = problem_and_parts()
    np.testing.assert_array_equal(sample_codes(parts, rows), sample_codes(source, rows))


def test_a_sample_has_rows_of_every_part():
    _, source, parts = problem_and_parts()
    np.testing.assert_array_equal(sample_codes(parts), sample_codes(source))
    assert sample_codes(parts, 50).shape[1] >= 50


def test_rows_elsewhere_take_no_memory_here():
    problems = [problem_and_parts(rows=rows) for rows in (200_000, 400_000)]
    here = [provide(source, Wish(2, history=10), 1e9, ONE).estimate for _, source, _ in problems]
    there = [provide(parts, Wish(2, history=10), 1e9, ONE).estimate for _, _, parts in problems]
    assert here[1].bytes > 1.5 * here[0].bytes
    assert there[1].bytes == there[0].bytes
    assert there[1].rows == 400_000


def test_the_choice_sees_all_parts():
    _, source, parts = problem_and_parts()
    choices = [
        choose(rows, depth=None, settings=EFFORTS["fast"], threads=ONE) for rows in (source, parts)
    ]
    assert choices[0].selection == choices[1].selection
    np.testing.assert_array_equal(choices[0].members, choices[1].members)
    np.testing.assert_array_equal(choices[0].strength, choices[1].strength)
