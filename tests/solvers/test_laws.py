"""What holds for every convex quadratic, in either precision and with any number of threads."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.solvers import LBFGS, chunks
from tests.solvers.problems import Pool, quadratic, wide_bowl


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 40),
    condition=st.floats(1, 1e4),
    history=st.integers(1, 12),
    exponent=st.sampled_from([0.0, 0.25, 0.5]),
    single=st.booleans(),
)
def test_the_loss_never_rises_and_ends_at_the_minimum(
    seed, size, condition, history, exponent, single
):
    value, _, diagonal = quadratic(seed, size, condition)
    solver = LBFGS(
        max_iter=2000,
        tol=1e-13,
        history=history,
        preconditioning=exponent,
        double_limit=0 if single else 1_000,
    )
    found = solver.minimise(value, np.zeros(size), curvature=diagonal)
    assert found.status == "converged"
    assert (np.diff(found.loss_curve) <= 0).all()
    assert found.loss == value(found.u)[0] == pytest.approx(1, abs=1e-4 if single else 1e-8)


def test_single_precision_is_used_beyond_the_limit_alone():
    value, curvature = wide_bowl(30)
    dtypes = {}
    for limit in (29, 30):
        LBFGS(max_iter=3, double_limit=limit).minimise(
            value,
            np.zeros(30),
            curvature=curvature,
            callbacks=[lambda p, limit=limit: dtypes.update({limit: p.state().pairs.dtype})],
        )
    assert dtypes == {29: np.float32, 30: np.float64}


def peak_bytes(solver, size):
    """Return the most memory that a search takes, its objective's gradient included."""

    def value(u):
        away = u - 1.0
        loss = float(np.einsum("i,i,i,i", away, away, away, away)) / 4
        return loss, np.power(away, 3, out=away)

    curvature = np.broadcast_to(np.float32(0.1), size)
    tracemalloc.start()
    found = solver.minimise(value, np.broadcast_to(0.0, size), curvature=curvature)
    assert found.n_iter == solver.max_iter
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("double_limit", "item"), [(0, 4), (10**6, 8)])
def test_a_search_takes_the_memory_that_is_documented(double_limit, item):
    solver = LBFGS(max_iter=8, tol=0, history=5, double_limit=double_limit)
    peak_bytes(solver, 10)  # compiles
    size = 200_000
    assert peak_bytes(solver, size) < (4 * 8 + (2 * 5 + 2) * item + 1) * size


@pytest.mark.parametrize("double_limit", [0, 10_000])
@given(count=st.integers(1, 9), size=st.integers(1, 1500))
def test_threads_change_no_bit(count, size, double_limit):
    value, curvature = wide_bowl(size)
    solver = LBFGS(max_iter=12, tol=0, double_limit=double_limit, history=4)
    pool = Pool(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks.Chunks.__init__, "__defaults__", (None, 100))
        alone = solver.minimise(value, np.zeros(size), curvature=curvature)
        shared = solver.minimise(value, np.zeros(size), curvature=curvature, threads=pool)
    assert bool(pool.tasks) == (size > 100)
    assert shared.evaluation_curve == alone.evaluation_curve
    np.testing.assert_array_equal(shared.u, alone.u)


def test_chunks_change_no_more_than_rounding():
    value, curvature = wide_bowl(5000)
    curves = []
    for size in (64, 100_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunks.Chunks.__init__, "__defaults__", (None, size))
            found = LBFGS(max_iter=15).minimise(value, np.zeros(5000), curvature=curvature)
        curves.append(found.loss_curve)
    np.testing.assert_allclose(*curves, rtol=1e-10)
