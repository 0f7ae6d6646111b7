"""ARFF files are read as scipy and their writers mean them."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import arff

from deepbroad import AnJEClassifier
from deepbroad.data.arff_file import split_values
from deepbroad.data.files import open_files

PLAIN = """% a comment
@RELATION weather

@attribute outlook {sunny, overcast, rainy}
@attribute 'wind speed' real
@ATTRIBUTE humidity INTEGER
@attribute play {yes,no}

@DATA
sunny,1.5,70,no
overcast, ?, 80 ,yes
% another
rainy,-2e1,?,yes
?,0,65,no
"""


def read(tmp_path, text, **options):
    path = tmp_path / "table.arff"
    path.write_text(text, encoding="utf-8")
    return open_files(path, **options).read()


def test_values_are_those_that_scipy_reads(tmp_path):
    X, y = read(tmp_path, PLAIN, y="play")
    expected, meta = arff.loadarff(io.StringIO(PLAIN))
    assert [*X.column_names, "play"] == meta.names()
    for name in ("wind speed", "humidity"):
        np.testing.assert_array_equal(
            X[name].to_numpy(zero_copy_only=False), expected[name].astype(float)
        )
    assert X["outlook"].to_pylist() == ["sunny", "overcast", "rainy", None]
    assert y.to_pylist() == [label.decode() for label in expected["play"]]


def test_texts_and_dates_that_scipy_refuses_are_text(tmp_path):
    text = '@relation r\n@attribute "t" string\n@attribute d date\n@data\n\'a, b\',"2020"\n'
    X, _ = read(tmp_path, text)
    assert X.to_pylist() == [{"t": "a, b", "d": "2020"}]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])), min_size=1))
def test_quoted_values_come_back(values):
    quoted = ["'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for v in values]
    assert split_values(", ".join(quoted)) == values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("@DATA", "@nothing"), "no ARFF file"),
        (("@attribute play {yes,no}", "play"), "line 7"),
        (("sunny,1.5,70,no", "sunny,1.5,70"), "line 10 has 3 values for 4"),
        (("sunny,1.5,70,no", "{0 sunny}"), "sparse"),
        (("1.5", "much"), "'wind speed' is numeric"),
        (("humidity", "'wind speed'"), "twice"),
    ],
)
def test_broken_files_are_refused_in_a_sentence(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, PLAIN.replace(*change))


def test_models_are_fitted_to_arff_files(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text(PLAIN)
    X, y = open_files(path, y="play").read()
    model = AnJEClassifier(n=1).fit(path, "play")
    own = AnJEClassifier(n=1).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(path), own.predict_proba(X))
