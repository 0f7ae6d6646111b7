from dataclasses import replace

import pytest

from deepbroad.experiments.dataset import Shape
from deepbroad.experiments.methods import METHODS
from deepbroad.experiments.schedule import Forecast, guess_seconds, order
from tests.experiments.small_trials import make_trials


def of_size(trial, rows, method="DBL2", name="small"):
    dataset = replace(trial.subject.dataset, name=name)
    subject = replace(trial.subject, dataset=dataset, shape=Shape(rows, 10, 2))
    return replace(trial, subject=subject, method=METHODS[method])


@pytest.fixture
def trial():
    return make_trials("prior")[0]


def test_cheap_trials_come_first_and_folds_stay_together(trial):
    folds = make_trials("prior", rounds=2)
    large = [of_size(one, 10_000, name="large") for one in folds]
    small = [of_size(one, 100) for one in folds]
    deep = [of_size(one, 100, "DBL3") for one in folds]
    found = order([*large, *deep[::-1], *small])
    assert found == [*small, *deep, *large]


def test_a_guess_grows_with_rows_and_depth(trial):
    assert guess_seconds(of_size(trial, 100)) < guess_seconds(of_size(trial, 1000))
    assert guess_seconds(of_size(trial, 100)) < guess_seconds(of_size(trial, 100, "DBL3"))
    # More attributes to a tuple than there are is no deeper than all of them.
    subject = replace(trial.subject, shape=Shape(100, 2, 2))
    assert guess_seconds(replace(trial, subject=subject, method=METHODS["A2DE"])) > 0


def test_a_forecast_takes_what_was_measured_of_the_same_method_and_data(trial):
    forecast = Forecast(limit=100.0)
    forecast.learn(trial, 2.0)
    forecast.learn(trial, 4.0)
    assert forecast.expect(trial) == 3.0
    assert forecast.total([trial, trial]) == 6.0


def test_a_forecast_scales_the_guess_of_the_method_elsewhere(trial):
    forecast = Forecast(limit=100.0)
    small, large = of_size(trial, 1000), of_size(trial, 3000, name="large")
    assert forecast.expect(large) == guess_seconds(large)
    forecast.learn(small, 5 * guess_seconds(small))
    assert forecast.expect(large) == pytest.approx(5 * guess_seconds(large))
    assert Forecast(limit=0.01).expect(large) == 0.01
