from dataclasses import replace
from functools import partial

import pytest

import deepbroad
from deepbroad import AnJEClassifier
from deepbroad.experiments.methods import Method
from tests.experiments.small_trials import make_trials


@pytest.fixture
def trial():
    return make_trials("prior")[0]


def test_keys_of_trials_differ():
    trials = make_trials("prior", "failure", rounds=3)
    assert len(trials) == len({trial.key for trial in trials}) == 12


def test_a_key_is_the_same_for_the_same_trial(trial):
    assert trial.key == make_trials("prior")[0].key


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"stratified": True}], ids=["seed", "stratification"]
)
def test_a_key_depends_on_how_folds_are_drawn(trial, change):
    assert replace(trial, protocol=replace(trial.protocol, **change)).key != trial.key


def test_further_rounds_leave_keys_alone(trial):
    assert replace(trial, protocol=replace(trial.protocol, rounds=9)).key == trial.key


def test_a_key_depends_on_the_data(trial):
    assert replace(trial, subject=replace(trial.subject, checksum="other")).key != trial.key


def test_a_key_depends_on_parameters(trial):
    keys = {
        replace(trial, method=Method("A", partial(AnJEClassifier, n, smoothing=m))).key
        for n in (1, 2)
        for m in (0.5, 2.0)
    }
    assert len(keys) == 4


def test_a_key_depends_on_the_version(trial, monkeypatch):
    before = trial.key
    monkeypatch.setattr(deepbroad, "__version__", "another")
    assert make_trials("prior")[0].key != before
