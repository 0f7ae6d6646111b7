import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier

from deepbroad import LRClassifier, MDLDiscretizer
from deepbroad.experiments.catalogue import methods_for
from deepbroad.experiments.methods import METHODS, find
from deepbroad.experiments.value_codes import ValueCodes
from deepbroad.measures import measure
from tests.experiments.small_trials import make_table


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"DBL"}))
def test_every_method_fits_after_a_journey_to_another_process(name):
    X, y = make_table()
    X = X.append_column("other", X["text"])
    model = pickle.loads(pickle.dumps(METHODS[name])).create()
    probabilities = model.fit(X, y).predict_proba(X)
    assert measure(y, probabilities, classes=model.classes_).error < 0.3


def test_a_method_makes_a_new_estimator_each_time():
    for method in METHODS.values():
        assert method.create() is not method.create()


@pytest.mark.parametrize("name", ["DBL1", "DBL2", "DBL3", "LR1", "LR2", "LR3"])
def test_discriminative_methods_have_the_settings_of_the_paper(name):
    model = METHODS[name].create()
    assert model.n == int(name[-1])
    assert (model.alpha, model.solver, model.loss) == (0.01, "lbfgs-plain", "log_loss")
    if not isinstance(model, LRClassifier):
        assert (model.smoothing, model.orders, model.bins) == (1.0, "exact", "mdl")
        assert model.shrink_to == "zero"


def test_parameters_tell_methods_apart():
    different = set(METHODS) - {"NB"}  # another name of A1JE
    assert len({METHODS[name].parameters for name in different}) == len(different)
    assert METHODS["NB"].parameters == METHODS["A1JE"].parameters


def test_a_limit_of_iterations_reaches_the_methods_that_search():
    for name in ("DBL2", "LR3", "ELR"):
        limited = pickle.loads(pickle.dumps(METHODS[name].limited(7)))
        assert limited.create().max_iter == 7
        assert "max_iter=7" in limited.parameters
    for name in ("A2JE", "A1DE", "RF"):
        assert METHODS[name].limited(7) is METHODS[name]


def test_methods_are_found_by_name():
    assert [method.name for method in find(["LR1", "A1JE"])] == ["A1JE", "LR1"]
    assert {method.name for method in find(methods_for())} == set(methods_for())
    with pytest.raises(ValueError, match="no method LR9"):
        find(["LR9"])


def test_texts_become_codes_and_numbers_the_bins_of_the_training_rows():
    number = [0.0, 1.0, 2.0, 3.0] * 10
    X = pa.table({"number": number, "text": ["b", "a", None, "b"] * 10})
    y = np.array([0, 0, 1, 1] * 10)
    codes = ValueCodes().fit(X, y)
    bins = MDLDiscretizer().fit(np.array(number)[:, None], y)
    assert bins.n_bins_.tolist() == [2]
    new = pa.table({"number": [0.5, 9.0, None], "text": ["a", None, "c"]})
    np.testing.assert_array_equal(codes.transform(new), [[0, 1], [1, -1], [-1, -1]])


def test_raw_numbers_stay_as_they_are():
    X = pa.table({"text": ["b", "a"], "number": [0.5, None], "whole": [-1, 7]})
    found = ValueCodes(discretise=False).fit(X, [0, 1]).transform(X)
    np.testing.assert_array_equal(found, [[0, 0.5, -1], [1, np.nan, 7]])


def test_times_and_booleans_are_numbers_in_their_order():
    seconds = np.array([5_000, 0, 1_000_000, 7])
    days = pa.array([20_000, 19_000, None, 19_001], pa.int32()).cast(pa.date32())
    X = pa.table(
        {
            "date": days,
            "instant": pa.array(seconds + 1_700_000_000).cast(pa.timestamp("s", "UTC")),
            "duration": pa.array(seconds).cast(pa.duration("s")),
            "time": pa.array([3, 1, 2, None], pa.int32()).cast(pa.time32("s")),
            "price": pa.array([3, 1, 2, None], pa.int32()).cast(pa.decimal128(12, 2)),
            "flag": [True, False, None, True],
            "empty": pa.nulls(4, pa.date32()),
        }
    )
    found = ValueCodes(discretise=False).fit(X, [0, 1, 0, 1]).transform(X)
    for column in (1, 2):  # seconds apart, which no float32 would tell since 1970
        np.testing.assert_array_equal(found[:, column], seconds)
    np.testing.assert_array_equal(found[:, 0], [1000, 0, np.nan, 1])
    np.testing.assert_array_equal(found[:, 3], [2, 0, 1, np.nan])
    np.testing.assert_array_equal(found[:, 4], [3, 1, 2, np.nan])
    np.testing.assert_array_equal(found[:, 5], [1, 0, np.nan, 1])
    assert np.isnan(found[:, 6]).all()
    later = X.slice(0, 1).set_column(0, "date", [pa.array([18_999], pa.int32()).cast(pa.date32())])
    codes = ValueCodes(discretise=False).fit(X, [0, 1, 0, 1])
    assert codes.transform(later)[0, 0] == -1


def test_dates_are_cut_into_bins():
    days = np.arange(40)
    X = pa.table({"date": pa.array(days, pa.int32()).cast(pa.date32())})
    y = days >= 25
    np.testing.assert_array_equal(ValueCodes().fit(X, y).transform(X)[:, 0], y)


def test_the_forest_is_scikit_learns_on_the_codes():
    X, y = make_table()
    forest = RandomForestClassifier(100, random_state=0)
    codes = ValueCodes().fit(X, y).transform(X)
    np.testing.assert_array_equal(
        METHODS["RF"].create().fit(X, y).predict_proba(X), forest.fit(codes, y).predict_proba(codes)
    )
