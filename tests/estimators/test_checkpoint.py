"""A fit that is killed goes on where it was, and comes to the same model."""

import multiprocessing
import os
import signal
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import deepbroad
from deepbroad import DBLClassifier, KDBClassifier, LRClassifier, TANClassifier
from deepbroad.engine import dual
from deepbroad.engine.planning import Planner
from deepbroad.estimators import chosen_terms
from tests.estimators import slow_fits
from tests.estimators.slow_fits import RNG, WHOLE, X, Y

MODELS = {
    **slow_fits.MODELS,
    "mse": lambda **more: LRClassifier(2, alpha=0.01, loss="mse", **more),
    "kdb": lambda **more: KDBClassifier(fitting="discriminative", alpha=0.01, tol=1e-7, **more),
    "tan": lambda **more: TANClassifier(fitting="discriminative", alpha=0.01, tol=1e-7, **more),
}


@pytest.fixture
def _many_rows(monkeypatch):
    """Have the fit take its steps: that of few rows would begin where it ends."""
    monkeypatch.setattr(dual, "FEW_ROWS", 0)


def stop_after(count):
    """Return a callback that stops a fit after so many of its own calls."""
    calls = []

    def callback(progress):
        calls.append(progress.iteration)
        return len(calls) >= count

    return callback


def assert_same_fit(model, whole):
    assert (model.n_iter_, model.status_) == (whole.n_iter_, whole.status_)
    assert model.loss_curve_ == whole.loss_curve_
    assert model.evaluation_curve_ == whole.evaluation_curve_
    assert getattr(model, "selection_", None) == getattr(whole, "selection_", None)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


@pytest.mark.usefixtures("_many_rows")
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_stopped_again_and_again_comes_to_the_same_model(name, tmp_path, monkeypatch):
    whole = WHOLE[name] if name in WHOLE else MODELS[name]().fit(X, Y)
    runs, status = 0, "stopped"
    while status == "stopped":
        model = MODELS[name](checkpoint=tmp_path, callbacks=[stop_after(7)]).fit(X, Y)
        runs, status = runs + 1, model.status_
        # Once it is made, a choice is not made again.
        monkeypatch.setattr(chosen_terms, "choose", None)
        assert (os.listdir(tmp_path) == []) == (status != "stopped")
    assert runs > 2
    assert_same_fit(model, whole)


@pytest.fixture(scope="module")
def processes():
    """Processes that are forked from one that has fitted such models already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.estimators.slow_fits"])
    return context


def changes(folder):
    return {path.name: path.stat().st_mtime_ns for path in Path(folder).glob("*.checkpoint")}


def run(processes, name, folder, *, kill_after):
    """Return what a process sent: killed so many seconds after a save, or having come to its end.

    The second value tells whether it was killed.
    """
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(
        target=slow_fits.fit_slowly, args=(name, folder, sender), daemon=True
    )
    before = changes(folder)
    process.start()
    sender.close()
    sent = []
    while kill_after is not None and process.is_alive() and changes(folder) == before:
        sleep(0.002)
    if kill_after is not None:
        sleep(kill_after)
        process.kill()
    try:
        while True:
            sent.append(receiver.recv())
    except EOFError:
        process.join()
        return sent, process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["dbl", "automatic", "hinge"])
def test_a_fit_killed_at_random_moments_comes_to_the_same_model(name, tmp_path, processes):
    whole = WHOLE[name]
    moments = np.random.default_rng(len(name)).uniform(0, 0.06, 3)
    begins = []
    for moment in [*moments, None]:
        sent, killed = run(processes, name, tmp_path, kill_after=moment)
        begins += [sent[0]] if sent and isinstance(sent[0], int) else []
        if not killed:
            break
    loss, n_iter, status, probabilities = sent[-1]
    # Some process went on from where another was.
    assert max(begins) > 0
    assert (n_iter, status) == (whole.n_iter_, whole.status_)
    assert loss == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(probabilities, whole.predict_proba(X), atol=1e-7)
    assert os.listdir(tmp_path) == []


def test_other_data_or_parameters_are_refused(tmp_path):
    model = LRClassifier(2, checkpoint=tmp_path, callbacks=[stop_after(3)]).fit(X, Y)
    again = {"checkpoint": tmp_path}
    with pytest.raises(ValueError, match=r"alpha=1\.0, not 2\.0"):
        LRClassifier(2, alpha=2.0, **again).fit(X, Y)
    with pytest.raises(ValueError, match="estimator='LRClassifier'"):
        DBLClassifier(2, alpha=1.0, **again).fit(X, Y)
    other = (
        f"The checkpoint in .*{tmp_path.name}' is of another fit: .*other rows.*Take another folder"
    )
    with pytest.raises(ValueError, match=other):
        LRClassifier(2, **again).fit(X, np.roll(Y, 1))
    with pytest.raises(ValueError, match=other):
        LRClassifier(2, **again).fit(X, Y, sample_weight=np.full(240, 2.0))
    with pytest.raises(ValueError, match="rows=240, not 239"):
        LRClassifier(2, **again).fit(X[1:], Y[1:])
    assert LRClassifier(2, **again).fit(X, Y).n_iter_ > model.n_iter_


def test_what_changes_no_model_may_change(tmp_path):
    whole = LRClassifier(2, tol=1e-7).fit(X, Y)
    fit = {"checkpoint": str(tmp_path), "tol": 1e-7}
    LRClassifier(2, **fit, callbacks=[stop_after(3)], max_iter=8).fit(X, Y)
    order = np.random.default_rng(0).permutation(240)
    changed = {"n_jobs": 2, "verbose": 1, "max_iter": 400, "memory_limit": "1GB"}
    model = LRClassifier(2, **fit, **changed).fit(X[order], Y[order])
    assert model.loss_curve_[:3] == whole.loss_curve_[:3]
    assert model.loss_ == pytest.approx(whole.loss_, rel=1e-6)


def test_another_plan_goes_on_with_the_same_cells(tmp_path, monkeypatch):
    def turned(self):
        """Plan with the columns from last to first."""
        return self._grouped([(int(column),) for column in self._used[::-1]])

    whole = WHOLE["hinge"]
    for count in (60, 150, None):  # among the folds, and then in the whole
        callbacks = None if count is None else [stop_after(count)]
        model = MODELS["hinge"](checkpoint=tmp_path, callbacks=callbacks).fit(X, Y)
        if count == 60:
            begun = len(model.loss_curve_)
            monkeypatch.setattr(Planner, "cheapest", turned)
    assert begun > 3
    assert model.loss_ == pytest.approx(whole.loss_, rel=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-4)


def test_terms_that_memory_left_stay_under_another_limit(tmp_path):
    wide = RNG.integers(0, 12, (400, 24))
    labels = (wide[:, 0] + wide[:, 1]) % 2
    fit = {"n": 2, "alpha": 1.0, "checkpoint": tmp_path, "max_iter": 30}
    limit = DBLClassifier(2, alpha=1.0).estimate(wide.astype(str), labels).bytes * 2 // 3
    with pytest.warns(UserWarning, match="keeps the"):
        part = DBLClassifier(**fit, memory_limit=limit, callbacks=[stop_after(4)]).fit(
            wide.astype(str), labels
        )
    with pytest.warns((UserWarning, ConvergenceWarning)):
        rest = DBLClassifier(**fit, memory_limit="2GB").fit(wide.astype(str), labels)
    assert len(rest.terms_) < 24 * 23 // 2
    assert rest.terms_ == part.terms_
    np.testing.assert_array_equal(rest.term_gains_, part.term_gains_)
    assert rest.loss_curve_[:4] == part.loss_curve_


def test_a_damaged_version_costs_some_iterations_and_no_more(tmp_path):
    whole = WHOLE["dbl"]
    for count in (5, 5):
        MODELS["dbl"](checkpoint=tmp_path, callbacks=[stop_after(count)]).fit(X, Y)
    newest = max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-5])
    seen = []
    with pytest.warns(UserWarning, match="damaged"):
        model = MODELS["dbl"](checkpoint=tmp_path, callbacks=[seen.append]).fit(X, Y)
    assert 0 < seen[0].iteration < 9
    assert_same_fit(model, whole)


@pytest.mark.parametrize("path", [5, "", b"a", "file", "file/below"])
def test_what_can_be_no_folder_is_refused_before_the_data_is_read(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    with pytest.raises(ValueError, match="checkpoint must be"):
        LRClassifier(checkpoint=path).fit(None, None)
    assert Path("file").read_text() == "mine"


def test_estimates_and_counted_models_leave_no_trace(tmp_path):
    folder = tmp_path / "new"
    LRClassifier(checkpoint=folder).estimate(X, Y)
    KDBClassifier(checkpoint=folder).fit(X, Y)
    assert not folder.exists()


def test_a_file_of_a_model_has_no_folder(tmp_path):
    model = LRClassifier(checkpoint=tmp_path / "secret").fit(X, Y)
    deepbroad.save(model, tmp_path / "m.dbl")
    assert b"secret" not in (tmp_path / "m.dbl").read_bytes()
    assert deepbroad.load(tmp_path / "m.dbl").checkpoint is None


def test_progress_counts_on_in_a_resumed_fit(tmp_path):
    LRClassifier(2, checkpoint=tmp_path, callbacks=[stop_after(4)]).fit(X, Y)
    seen = []
    LRClassifier(2, checkpoint=tmp_path, callbacks=[seen.append]).fit(X, Y)
    assert seen[0].iteration == 4
    assert seen[0].evaluations > 4
