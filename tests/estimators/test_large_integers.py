"""Integers beyond 2^53, which float64 cannot all tell apart."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deepbroad import AnJEClassifier, DBLClassifier

MESSAGE = "Column 'id' holds integers beyond 2\\^53.*`categorical_features`"
IDS = 2**53 + np.arange(40) % 2
Y = np.where(IDS % 2, "odd", "even")
X = pd.DataFrame({"a": np.arange(40) % 3, "id": IDS})


def in_memory(name):
    return {
        "pandas": X,
        "negative": X.assign(id=-X["id"]),
        "unsigned": X.astype({"id": np.uint64}),
        "nullable": X.astype({"id": "Int64"}),
        "objects": X.astype(object),
        "huge objects": X.assign(id=[10**30 + i % 2 for i in range(40)]),
        "polars": pl.from_pandas(X),
        "decimals": pa.Table.from_pandas(X).cast(
            pa.schema([("a", pa.int64()), ("id", pa.decimal128(38, 0))])
        ),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["pandas", "negative", "unsigned", "nullable", "objects", "huge objects", "polars", "decimals"],
)
def test_integers_that_become_one_number_are_warned_of(name):
    with pytest.warns(UserWarning, match=MESSAGE):
        AnJEClassifier(n=1).fit(in_memory(name), Y)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_integers_that_become_one_number_are_warned_of_in_files(tmp_path, suffix):
    path, table = tmp_path / f"t.{suffix}", X.assign(y=Y)
    if suffix == "csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table), path)
    with pytest.warns(UserWarning, match=MESSAGE) as seen:
        model = AnJEClassifier(n=1).fit(path, "y")
    assert len(seen) == 1
    model.predict(path)
    exact = AnJEClassifier(n=1, categorical_features=["id"]).fit(path, "y")
    assert exact.score(path, "y") == 1


def test_the_warning_comes_once_a_fit():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        DBLClassifier(n=2, alpha=1.0).fit(X, Y)
    assert len(seen) == 1


def test_integers_that_stay_apart_are_not_warned_of():
    apart = X.assign(id=X["id"] + 2**60 * (X["id"] % 2), real=1e300)
    AnJEClassifier(n=1).fit(apart, Y)
    exact = AnJEClassifier(n=1, categorical_features=["id"]).fit(X, Y)
    assert exact.score(X, Y) == 1
