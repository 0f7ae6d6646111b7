"""Costs measured on the machine: when, by what, and how they are kept."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from deepbroad.engine import calibration, cost_cache
from deepbroad.engine.calibration import costs_for, least, machine_costs
from deepbroad.engine.cost_cache import cache_folder, load_costs, machine_key, store_costs
from deepbroad.engine.estimate import estimate_fit
from deepbroad.engine.planning import Planner
from deepbroad.engine.probes import LEAST_SHARE, Stopwatch
from deepbroad.kernels.threads import Threads
from deepbroad.model.cost import TYPICAL
from deepbroad.model.terms import Terms
from tests.engine.problems import draw_problem

MEASURED = replace(TYPICAL, evaluation=123.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a test an empty cache of its own, and forget what the process knows."""
    monkeypatch.setenv(cost_cache.FOLDER_VARIABLE, str(tmp_path / "cache"))
    calibration._costs_of_process.cache_clear()
    yield tmp_path / "cache"
    calibration._costs_of_process.cache_clear()


@pytest.fixture
def measurements(monkeypatch):
    """Count measurements instead of taking them."""
    taken = []

    def measure():
        taken.append(MEASURED)
        return MEASURED

    monkeypatch.setattr(calibration, "measure_costs", measure)
    return taken


def test_the_machine_is_measured_once_and_remembered(folder, measurements):
    assert machine_costs() == machine_costs() == MEASURED
    calibration._costs_of_process.cache_clear()  # as a new process would
    assert machine_costs() == MEASURED
    assert len(measurements) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"costs"',
        json.dumps({"another machine": asdict(TYPICAL)}),
        pytest.param({"run": None}, id="null"),
        pytest.param({"run": -1.0}, id="negative"),
        pytest.param({"run": float("nan")}, id="nan"),
        pytest.param({"run": [1.0]}, id="list"),
        pytest.param({"lookups": [[1.0]]}, id="short"),
        pytest.param({"parameters": "fast"}, id="text"),
    ],
)
def test_a_damaged_file_means_measuring_again(folder, measurements, text):
    if isinstance(text, dict):
        text = json.dumps({machine_key(): {**asdict(TYPICAL), **text}})
    folder.mkdir()
    (folder / cost_cache.FILE).write_text(text)
    assert load_costs() is None
    assert machine_costs() == MEASURED
    assert load_costs() == MEASURED


def test_bytes_that_are_no_text_mean_measuring_again(folder, measurements):
    folder.mkdir()
    (folder / cost_cache.FILE).write_bytes(b"\xff\xfe\x00")
    assert machine_costs() == MEASURED


def test_a_folder_that_cannot_be_written_means_measuring_once_per_process(folder, measurements):
    folder.write_text("a file where the folder should be")
    assert machine_costs() == machine_costs() == MEASURED
    assert len(measurements) == 1


def test_machines_that_share_a_folder_keep_their_own_costs(folder, monkeypatch):
    store_costs(TYPICAL)
    monkeypatch.setattr(cost_cache, "cpu_model", lambda: "another")
    assert load_costs() is None
    store_costs(MEASURED)
    assert load_costs() == MEASURED
    monkeypatch.undo()
    monkeypatch.setenv(cost_cache.FOLDER_VARIABLE, str(folder))
    assert load_costs() == TYPICAL
    assert [path.name for path in folder.iterdir()] == [cost_cache.FILE]


def test_measurements_of_an_older_model_of_costs_are_not_read(folder, monkeypatch):
    store_costs(MEASURED)
    monkeypatch.setattr(cost_cache, "VERSION", cost_cache.VERSION + 1)
    assert load_costs() is None


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "base/deepbroad"),
        ("linux", None, "home/.cache/deepbroad"),
        ("darwin", None, "home/Library/Caches/deepbroad"),
        ("win32", "LOCALAPPDATA", "base/deepbroad"),
        ("win32", None, "home/AppData/Local/deepbroad"),
    ],
)
def test_the_folder_follows_the_platform(monkeypatch, tmp_path, platform, variable, expected):
    for name in (cost_cache.FOLDER_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cost_cache.sys, "platform", platform)
    monkeypatch.setattr(cost_cache.Path, "home", lambda: tmp_path / "home")
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "base"))
    assert cache_folder() == tmp_path / expected


def test_short_passes_never_measure_but_use_what_is_known(folder, measurements):
    assert costs_for(lambda costs: 0.01) == TYPICAL
    assert costs_for(lambda costs: 0.1) == MEASURED
    assert costs_for(lambda costs: 0.01) == MEASURED
    assert len(measurements) == 1


def test_a_small_fit_is_not_worth_a_measurement(folder, measurements):
    problem = draw_problem(0, a=6, rows=500)
    plan = Planner(problem.source(), Terms.of_order(2, problem.cardinalities)).cheapest()
    assert estimate_fit(problem.source(), plan, history=10, n_threads=1).seconds_per_pass < 0.05
    assert measurements == []
    assert not folder.exists()


def test_a_machine_short_of_memory_counts_as_typical(folder, monkeypatch):
    def measure():
        raise MemoryError

    monkeypatch.setattr(calibration, "measure_costs", measure)
    assert machine_costs() == TYPICAL
    assert load_costs() is None


def test_measured_costs_can_be_kept(folder, monkeypatch):
    # The real measurement, with tables so small that it takes no time.
    monkeypatch.setattr(calibration, "TABLE_BYTES", (1 << 12,) * len(TYPICAL.lookups[0]))
    monkeypatch.setattr(calibration, "PARAMETERS", (64, 128, 256))
    costs = machine_costs()
    assert load_costs() == costs != TYPICAL
    assert np.min([np.min(value) for value in asdict(costs).values()]) >= 0
    assert costs.lookups[0][0] > 0
    assert (np.diff(costs.lookups, axis=1) >= 0).all()
    assert min(costs.softmaxes) > 0
    assert costs.evaluation > 0


def test_the_least_of_all_rounds_counts():
    rounds = iter([[3.0, 1.0], [2.0, 5.0], [4.0, 4.0]])
    assert least(lambda: next(rounds)).tolist() == [2.0, 1.0]
    assert next(rounds, None) is None


def test_work_whose_cost_is_lost_in_noise_is_not_free(monkeypatch):
    monkeypatch.setattr(Stopwatch, "_steps", lambda self, count, **shape: 0.001 * count)
    with Threads(1) as threads:
        step, run, number, cleared = Stopwatch(threads).building()
    assert (run, cleared) == (LEAST_SHARE * TYPICAL.run, LEAST_SHARE * TYPICAL.cleared)
    assert step > 0
    assert number > 0
