import multiprocessing
from dataclasses import replace

import pytest

from deepbroad.experiments.rows import make_row, read_row, read_rows, write_row
from deepbroad.experiments.runner import Runner, Settings, find_subjects
from tests.experiments.small_trials import make_dataset, make_trials


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path, jobs=2, timeout=3.0)


def note(settings, trial, status, message=""):
    """Write a row without a run."""
    columns = {"message": message}
    if status == "done":
        columns |= {"train_seconds": 1.0, "predict_seconds": 1.0}
    write_row(settings.rows, trial, make_row(trial, status, columns, settings.timeout))


def test_every_end_of_a_trial_has_its_row(settings):
    trials = make_trials("prior", "sleeper", "failure", "glutton", "victim", "crash")
    trials = [trial for trial in trials if trial.fold == 0]
    seen = []
    Runner(trials, settings).run(seen.append)
    assert (len(seen), seen[-1].done, seen[-1].total) == (6, 6, 6)
    rows = read_rows(settings.rows)
    assert {row["method"]: (row["status"], row["message"]) for row in rows} == {
        "prior": ("done", ""),
        "sleeper": ("timeout", "It took longer than 3 s."),
        "failure": ("error", "ValueError: no reason"),
        "glutton": ("memory", "needs 1 TB"),
        "victim": ("memory", "The system killed the process, most likely for its memory."),
        "crash": ("error", "The process ended with exit code 3."),
    }


def test_rows_that_are_there_are_not_made_again(settings):
    trials = make_trials("prior", "failure")
    for trial in trials:
        note(settings, trial, "done" if trial.method.name == "prior" else "error")
    runner = Runner(trials, settings)
    assert runner.pending == []
    runner.run(lambda progress: pytest.fail(f"ran {progress}"))


def test_other_folds_are_not_tried_after_one_took_too_long(settings):
    trials = make_trials("sleeper", rounds=2)
    note(settings, trials[0], "timeout", "late")
    seen = []
    Runner(trials, settings).run(seen.append)
    assert len(seen) == 3
    for trial in trials[1:]:
        row = read_row(settings.rows, trial)
        assert row["status"] == "timeout"
        assert row["message"] == "not tried after round 0, fold 0: late"


def test_a_longer_limit_gives_another_try(settings):
    trials = make_trials("sleeper", "glutton")
    for trial in trials:
        note(settings, trial, "timeout" if trial.method.name == "sleeper" else "memory")
    for timeout, wanted in ((2.0, 0), (3.0, 0), (4.0, 2)):
        assert len(Runner(trials, replace(settings, timeout=timeout)).pending) == wanted


def test_what_failed_is_tried_again_on_demand(settings):
    trials = make_trials("prior", "failure", "glutton", "sleeper")
    statuses = {"prior": "done", "failure": "error", "glutton": "memory", "sleeper": "timeout"}
    for trial in trials:
        note(settings, trial, statuses[trial.method.name])
    pending = Runner(trials, replace(settings, retry=True)).pending
    assert {trial.method.name for trial in pending} == {"failure", "glutton", "sleeper"}


def test_an_exception_of_the_watcher_leaves_no_process_behind(settings):
    def interrupt(_):
        raise KeyboardInterrupt

    trials = make_trials("prior", rounds=2)
    # Other tests of this process may have left idle workers of joblib's.
    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        Runner(trials, replace(settings, jobs=1)).run(interrupt)
    assert set(multiprocessing.active_children()) <= before
    assert len(read_rows(settings.rows)) == 1


def test_cores_and_memory_are_shared_by_jobs(settings):
    one, two = (replace(settings, jobs=jobs).means for jobs in (1, 2))
    assert two.threads == max(1, one.threads // 2)
    assert abs(one.memory - 2 * two.memory) <= 1


def test_data_sets_that_cannot_be_loaded_are_told_apart(tmp_path):
    good = make_dataset()
    wrong = make_dataset(name="wrong", rows=3, shape=good.shape._replace(rows=3))
    gone = make_dataset(name="gone", shape=None, missing="It is lost.")
    subjects, missing = find_subjects([good, wrong, gone], tmp_path)
    assert [subject.dataset for subject in subjects] == [good]
    assert subjects[0].shape == good.shape
    assert missing["gone"] == "It is lost."
    assert "expected are 3 rows" in missing["wrong"]
    assert len(find_subjects([wrong], tmp_path, checked=False)[0]) == 1
