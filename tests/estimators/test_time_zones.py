"""Dates with a time zone and dates without are different things."""

import pandas as pd
import polars as pl
import pytest

import deepbroad
from deepbroad import AnJEClassifier

NAIVE = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60, freq="h")})
AWARE = NAIVE.apply(lambda column: column.dt.tz_localize("Asia/Tokyo"))
Y = ["early"] * 30 + ["late"] * 30
WITH, WITHOUT = "dates with a time zone", "dates without a time zone"


@pytest.mark.parametrize(
    ("seen", "given", "held", "holds"),
    [(NAIVE, AWARE, WITHOUT, WITH), (AWARE, NAIVE, WITH, WITHOUT)],
    ids=["aware", "naive"],
)
@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas], ids=["pandas", "polars"])
def test_dates_of_the_other_sort_are_refused(seen, given, held, holds, convert):
    model = AnJEClassifier(n=1).fit(convert(seen), Y)
    with pytest.raises(ValueError, match=f"'when' must hold {held}, .*but holds {holds}"):
        model.predict(convert(given))


def test_other_zones_and_objects_are_the_same_instants(tmp_path):
    model = AnJEClassifier(n=1).fit(AWARE, Y)
    deepbroad.save(model, tmp_path / "m.dbl")
    for fitted in (model, deepbroad.load(tmp_path / "m.dbl")):
        elsewhere = AWARE.apply(lambda column: column.dt.tz_convert("America/Lima"))
        for X in (AWARE, elsewhere, elsewhere.astype(object)):
            assert fitted.predict(X).tolist() == Y


def test_missing_dates_have_no_zone():
    model = AnJEClassifier(n=1).fit(AWARE, Y)
    nothing = pd.DataFrame({"when": pd.to_datetime([None])})
    assert model.predict(nothing).shape == (1,)


def test_categories_of_the_other_sort_are_warned_of():
    model = AnJEClassifier(n=1, categorical_features=["when"]).fit(AWARE, Y)
    assert model.predict(AWARE).tolist() == Y
    with pytest.warns(UserWarning, match=f"holds {WITHOUT}, in training it held {WITH}"):
        model.predict(NAIVE)
