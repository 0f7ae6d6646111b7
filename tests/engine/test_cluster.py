"""Rows on the workers of a cluster give what rows in several parts give in one process."""

import pickle
import sys

import numpy as np
import pytest

from deepbroad.data.parts import join_pairwise
from deepbroad.engine.choice import EFFORTS, choose
from deepbroad.engine.cluster import Cluster, ClusterSource, Kept, find_client
from deepbroad.engine.passes import PartPass, count_cells
from deepbroad.engine.planning import Planner, group_source
from deepbroad.engine.training import Training
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.loss import LOSSES
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS
from tests.clusters import kill_worker, local_client
from tests.engine.problems import draw_problem
from tests.parted import Parts

ONE = Threads(1)
BOUNDS = [1, 130, 131, 300]
FAMILY = Family(generative=True, strength=0.1, target=1.0)


@pytest.fixture(scope="module")
def client():
    with local_client() as started:
        yield started


def draw_parts(bounds=BOUNDS, seed=5):
    """Return a problem's rows in parts; workers call it too, so that they can do so again."""
    source = draw_problem(seed, a=4, rows=400, weighted=True, largest=6).source()
    return Parts.of(source, bounds)


def draw_part(i):
    return draw_parts().parts[i]


def on_cluster(client):
    cluster = Cluster(client)
    return ClusterSource(cluster, cluster.map(draw_part, range(len(BOUNDS) + 1)))


def training_of(source, n=2):
    plan = Planner(source, Terms.of_order(n, source.cardinalities)).fused()
    return Training(
        group_source(source, plan), plan, smoothing=1.0, dtype=np.dtype(np.float64), threads=ONE
    )


def loss_pass_of(training):
    design = training.design(FAMILY)
    return training.loss_pass(FAMILY, design), design


def run_pass(run, design):
    gradient = np.empty(design.scale.shape)
    loss, classes = run(design.class_start, np.full(design.scale.shape, 0.3), gradient)
    return loss, classes, gradient


def put_together(first, second):
    return f"({first}{second})"


def test_a_source_on_a_cluster_is_one_of_several_parts(client):
    parts, source = draw_parts(), on_cluster(client)
    assert source.n_rows == parts.n_rows
    assert source.n_weighted == parts.n_weighted
    assert not source.resident
    rows = np.array([0, 1, 5, 200, 399])
    for name in ("codes", "labels", "weights"):
        np.testing.assert_array_equal(
            getattr(source.take(rows), name), getattr(parts.take(rows), name)
        )
    drawn = [one.draw(100, np.random.default_rng(0)).codes for one in (source, parts)]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("count", range(1, 10))
def test_the_tree_is_that_of_one_process(client, count):
    cluster = Cluster(client)
    found = cluster.join(cluster.map(str, range(count)), put_together).result()
    assert found == join_pairwise([str(i) for i in range(count)], put_together)


def test_counts_passes_and_fits_have_the_same_bits(client):
    here, there = training_of(draw_parts()), training_of(on_cluster(client))
    for a, b in zip(*(count_cells(t.source, t.plan, ONE) for t in (here, there)), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(*(run_pass(*loss_pass_of(t)) for t in (here, there)), strict=True):
        np.testing.assert_array_equal(a, b)
    models = [t.discriminative(FAMILY, LBFGS(max_iter=5))[0] for t in (here, there)]
    np.testing.assert_array_equal(models[0].scores, models[1].scores)


def test_the_choice_is_the_same(client):
    choices = [
        choose(rows, depth=None, settings=EFFORTS["fast"], threads=ONE)
        for rows in (draw_parts(), on_cluster(client))
    ]
    assert choices[0].selection == choices[1].selection
    np.testing.assert_array_equal(choices[0].members, choices[1].members)
    np.testing.assert_array_equal(choices[0].strength, choices[1].strength)


def test_a_later_pass_leaves_the_results_of_an_earlier_one():
    training = training_of(draw_parts())
    design = training.design(FAMILY)
    part = training.loss_pass(FAMILY, design)._parts.things[1]
    shape = design.scale.shape
    first = part(design.class_start, np.full(shape, 0.3), LOSSES["log_loss"])
    kept = first.cells.copy()
    part(design.class_start, np.full(shape, 0.7), LOSSES["log_loss"])
    np.testing.assert_array_equal(first.cells, kept)


def test_a_pass_moves_without_its_buffers():
    training = training_of(draw_parts())
    design = training.design(FAMILY)
    part = training.loss_pass(FAMILY, design)._parts.things[1]
    moved = pickle.loads(pickle.dumps(Kept(part))).thing
    assert isinstance(moved, PartPass)
    at = design.class_start, np.full(design.scale.shape, 0.3), LOSSES["mse"]
    np.testing.assert_array_equal(moved(*at).cells, part(*at).cells)
    assert sys.getsizeof(part) > part.tables.cells.nbytes + part.source.codes.nbytes


@pytest.mark.parametrize("name", LOSSES)
def test_losses_arrive_as_they_are(name):
    assert pickle.loads(pickle.dumps(LOSSES[name])) is LOSSES[name]


def test_a_killed_worker_costs_time_not_the_fit(client):
    expected, _ = training_of(draw_parts()).discriminative(FAMILY, LBFGS(max_iter=8))
    killed = []

    def kill(state):
        if state.iteration == 3:
            kill_worker(client)
            killed.append(state.iteration)

    found, _ = training_of(on_cluster(client)).discriminative(
        FAMILY, LBFGS(max_iter=8), callbacks=[kill]
    )
    assert killed == [3]
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_what_was_sent_and_lost_is_sent_again(client):
    training = training_of(on_cluster(client))
    run, design = loss_pass_of(training)
    expected = run_pass(run, design)
    cluster = training.source.cluster
    send, sent = cluster.send, []

    def send_and_lose(*things):
        future = send(*things)
        if not sent:
            client.cancel(future)  # as if all workers that had it were gone
        sent.append(future)
        return future

    cluster.send = send_and_lose
    for a, b in zip(run_pass(run, design), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(sent) == 2


def test_errors_of_workers_come_to_the_driver(client):
    with pytest.raises(ZeroDivisionError):
        on_cluster(client).reduce(fail, join=put_together, threads=ONE)


def fail(part, threads):
    return 1 // 0


def test_without_a_client_the_error_says_what_to_start(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def none():
        raise ValueError("no client")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(RuntimeError, match=r"start a dask\.distributed\.Client first"):
        find_client()


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "deepbroad\[dask\]"'):
        find_client()
