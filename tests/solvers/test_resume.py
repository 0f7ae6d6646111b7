"""A search that stops and goes on from its state does what it would have done."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from deepbroad.solvers import LBFGS, State
from tests.solvers.problems import VALLEY, Pool, rosenbrock, wide_bowl

# More than one chunk, so that threads have something to share.
SIZE = 70_000


def stop_at(iteration, kept):
    """Return a callback that keeps a copy of the state of an iteration, and stops there."""

    def callback(progress):
        if progress.iteration == iteration:
            kept.append(progress.state().copy())
            return True
        return False

    return callback


@pytest.mark.parametrize("pool", [None, Pool(2)], ids=["alone", "threads"])
@pytest.mark.parametrize("double_limit", [0, 10**6], ids=["single", "double"])
@pytest.mark.parametrize("after", [0, 2, 7])
def test_a_resumed_search_gives_the_same_bits(after, double_limit, pool):
    value, curvature = wide_bowl(SIZE)
    solver = LBFGS(max_iter=10, tol=0, history=4, double_limit=double_limit)
    settings = {"curvature": curvature, "threads": pool}
    start, kept = np.zeros(SIZE), []
    whole = solver.minimise(value, start, **settings)
    part = solver.minimise(value, start, callbacks=[stop_at(after, kept)], **settings)
    assert (part.status, part.n_iter) == ("stopped", after)
    rest = solver.minimise(value, start, state=kept[0], **settings)
    assert rest.loss_curve == whole.loss_curve
    assert rest.evaluation_curve == whole.evaluation_curve
    assert (rest.status, rest.n_iter) == (whole.status, whole.n_iter)
    np.testing.assert_array_equal(rest.u, whole.u)


def test_callbacks_go_on_where_they_were_and_time_adds_up():
    kept, seen = [], []
    LBFGS(max_iter=30).minimise(rosenbrock, VALLEY, callbacks=[stop_at(4, kept)])
    before = kept[0].seconds
    LBFGS(max_iter=6).minimise(rosenbrock, VALLEY, state=kept[0], callbacks=[seen.append])
    assert [progress.iteration for progress in seen] == [5, 6]
    assert all(progress.seconds > before for progress in seen)


def test_a_search_that_had_ended_ends_again_without_an_evaluation():
    kept = []
    whole = LBFGS(max_iter=4).minimise(rosenbrock, VALLEY, callbacks=[stop_at(4, kept)])
    again = LBFGS(max_iter=4).minimise(rosenbrock, VALLEY, state=kept[0])
    assert again.status == "max_iter"
    assert again.evaluation_curve == whole.evaluation_curve
    np.testing.assert_array_equal(again.u, whole.u)


def test_a_state_survives_arrays_and_json_that_may_not_be_written_to():
    kept = []
    whole = LBFGS(max_iter=12).minimise(rosenbrock, VALLEY)
    LBFGS(max_iter=12).minimise(rosenbrock, VALLEY, callbacks=[stop_at(11, kept)])
    saved = {}
    for name, part in asdict(kept[0]).items():
        if isinstance(part, np.ndarray):
            saved[name] = np.frombuffer(part.tobytes(), part.dtype).reshape(part.shape)
        else:
            saved[name] = json.loads(json.dumps(part))
    for _ in range(2):  # read-only arrays are copied, so the same state serves twice
        found = LBFGS(max_iter=12).minimise(rosenbrock, VALLEY, state=State(**saved))
        assert found.loss_curve == whole.loss_curve
        np.testing.assert_array_equal(found.u, whole.u)


def test_a_state_of_another_length_or_history_is_refused():
    kept = []
    LBFGS().minimise(rosenbrock, VALLEY, callbacks=[stop_at(3, kept)])
    with pytest.raises(ValueError, match="2 parameters, not 3"):
        LBFGS().minimise(rosenbrock, np.zeros(3), state=kept[0])
    with pytest.raises(ValueError, match="history of 10"):
        LBFGS(history=5).minimise(rosenbrock, VALLEY, state=kept[0])


def test_a_state_is_to_be_had_during_its_callback_only():
    seen = []
    LBFGS().minimise(rosenbrock, VALLEY, callbacks=[seen.append])
    with pytest.raises(RuntimeError, match="during its callback"):
        seen[-1].state()
