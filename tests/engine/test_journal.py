"""A journal goes on where a fit was, saves seldom, and takes no other fit's word."""

import numpy as np
import pytest

from deepbroad.engine import journal as module
from deepbroad.engine.checkpoint import Checkpoint, CheckpointError
from deepbroad.engine.journal import KeptJournal
from deepbroad.model.loss import LOG_LOSS, MSE
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS, Progress

# Two terms of 2 × 3 cells in two classes, all of them reached: 26 parameters.
CARDINALITIES = np.array([2, 3, 2])
TERMS = Terms(np.array([[0, 1], [1, 2]]), CARDINALITIES)
TURNED = Terms(np.array([[1, 0], [1, 2]]), CARDINALITIES)
REACHED = np.arange(12)
STIFFNESS = np.linspace(1.0, 30.0, 26)
SOLVER = LBFGS(max_iter=30, tol=0.0, history=4)


def bowl(u):
    return float(STIFFNESS @ (u - 1) ** 2), 2 * STIFFNESS * (u - 1)


class Clock:
    """Time that goes by only when told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "perf_counter", clock)
    return clock


def open_journal(folder, **problem):
    journal = KeptJournal(Checkpoint(folder))
    journal.open({"estimator": "Some", "parameters": {"alpha": 1.0}, **problem})
    return journal


def minimise(journal, *, part="whole", stage=LOG_LOSS, stop=None, callbacks=(), solver=SOLVER):
    """Run one minimisation, to its end or to an iteration."""
    journal.begin(part)
    watchers = [*callbacks, lambda progress: progress.iteration == stop]
    return solver.minimise(
        bowl,
        np.zeros(26),
        callbacks=journal.watch(stage, TERMS, watchers),
        state=journal.state(stage, solver, TERMS, REACHED),
    )


def test_a_stop_is_saved_at_once_and_gone_on_from(tmp_path):
    whole = SOLVER.minimise(bowl, np.zeros(26))
    minimise(open_journal(tmp_path), stop=3)
    seen = []
    part = minimise(open_journal(tmp_path), stop=7, callbacks=[seen.append])
    assert (seen[0].iteration, part.n_iter) == (4, 7)
    rest = minimise(open_journal(tmp_path))
    assert rest.loss_curve == whole.loss_curve
    np.testing.assert_array_equal(rest.u, whole.u)


def test_a_state_is_of_its_part_and_stage_only(tmp_path):
    minimise(open_journal(tmp_path), part="fold 1", stage=MSE, stop=3)
    for part, stages, left in [
        ("fold 0", [LOG_LOSS, MSE], [LOG_LOSS, MSE]),
        ("fold 1", [LOG_LOSS, MSE], [MSE]),
        ("fold 1", [LOG_LOSS], [LOG_LOSS]),
    ]:
        journal = open_journal(tmp_path)
        journal.begin(part)
        assert journal.remaining(stages) == left
        state = journal.state(left[0], SOLVER, TERMS, REACHED)
        assert (state is not None) == (left == [MSE])


def test_saving_takes_about_a_twentieth_of_the_time(tmp_path, clock, monkeypatch):
    saves = []

    def save(self, content, arrays):
        saves.append(clock.now)
        clock.now += 0.2

    def pass_time(progress):
        clock.now += 0.1

    journal = open_journal(tmp_path)
    minimise(journal, stop=2)
    again = open_journal(tmp_path)
    again.begin("whole")
    state = again.state(LOG_LOSS, SOLVER, TERMS, REACHED)
    monkeypatch.setattr(Checkpoint, "save", save)
    (watch,) = journal.watch(LOG_LOSS, TERMS, [pass_time])
    for iteration in range(1000):
        watch(Progress(iteration, 1000, iteration, 0.0, 0.0, clock.now, lambda: state))
    assert saves[0] < 1.0
    assert 0.03 < 0.2 * len(saves) / clock.now < 0.06


def test_a_save_that_fails_warns_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    journal = open_journal(tmp_path)
    minimise(journal, stop=2)
    monkeypatch.setattr(Checkpoint, "save", fail)
    with pytest.warns(UserWarning, match="disk full"):
        minimise(journal, stop=3)
    minimise(journal, stop=4)
    monkeypatch.undo()
    seen = []
    minimise(open_journal(tmp_path), callbacks=[seen.append])
    assert seen[0].iteration == 3


def test_another_problem_is_refused_and_the_difference_named(tmp_path):
    minimise(open_journal(tmp_path), stop=2)
    with pytest.raises(CheckpointError, match=r"alpha=1\.0, not 2\.0\. Take another folder"):
        open_journal(tmp_path, parameters={"alpha": 2.0})
    with pytest.raises(
        CheckpointError, match=r"it has other rows, labels or weights\. Take another"
    ):
        open_journal(tmp_path, data="ab")


def test_a_state_follows_its_cells_into_another_plan(tmp_path):
    minimise(open_journal(tmp_path), stop=5)
    journal = open_journal(tmp_path)
    journal.begin("whole")
    ours = journal.state(LOG_LOSS, SOLVER, TERMS, REACHED)
    journal = open_journal(tmp_path)
    journal.begin("whole")
    theirs = journal.state(LOG_LOSS, SOLVER, TURNED, REACHED)
    # The first term is 2 × 3 here and 3 × 2 there; classes are the first two parameters.
    turned = np.append([0, 1], 2 + np.arange(24).reshape(12, 2)).astype(int)
    turned[2:14] = 2 + np.arange(12).reshape(2, 3, 2).transpose(1, 0, 2).ravel()
    for name in ("u", "gradient", "pairs"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name)[..., turned])


@pytest.mark.parametrize("history", [2, 6])
def test_a_shorter_or_longer_history_goes_on(tmp_path, history):
    minimise(open_journal(tmp_path), stop=7)
    solver = LBFGS(max_iter=60, tol=0.0, history=history)
    seen = []
    found = minimise(open_journal(tmp_path), callbacks=[seen.append], solver=solver)
    assert seen[0].iteration == 8
    np.testing.assert_allclose(found.u, 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("state.order", np.array([0, 1, 99])),
        ("state.order", np.array([0, -1])),
        ("state.order", np.array([0.0, 1.0])),
        ("state.order", np.array([0, 0])),
        ("state.gradient", np.zeros(3)),
        ("state.u", np.zeros((2, 13))),
        ("state.pairs", np.zeros((4, 2, 5))),
        ("state.pairs", np.zeros((99, 2, 26))),
        ("state.gram", np.zeros((2, 2))),
        ("state.gram", np.zeros(())),
        ("state.loss_curve", np.zeros(0)),
        ("position.members", np.array([[0, 1]])),
        ("position.members", np.array([[0, 9], [1, 2]])),
    ],
)
def test_forged_arrays_are_refused_before_any_kernel_sees_them(tmp_path, name, array):
    minimise(open_journal(tmp_path), stop=6)
    checkpoint = Checkpoint(tmp_path)
    content, arrays = checkpoint.load()
    assert name in arrays
    checkpoint.save(content, arrays | {name: array})
    with pytest.raises(CheckpointError, match="what no fit writes"):
        minimise(open_journal(tmp_path))
