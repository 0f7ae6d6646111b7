"""Models of structures come out of files as they went in."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import deepbroad
from deepbroad import AnJEClassifier, KDBClassifier, ModelFileError
from deepbroad.persist.container import Stamp, pack_file, unpack_file
from tests.estimators.tables import STRUCTURED
from tests.test_persist import assert_same, mixed_table, reload

every_structured = pytest.mark.parametrize("model", STRUCTURED.values(), ids=STRUCTURED.keys())


@every_structured
def test_a_model_of_mixed_columns_survives_with_its_structure(model, tmp_path):
    X, y = mixed_table()
    model = clone(model).fit(X, y)
    unseen = X.assign(color="never seen", mixed=99)
    loaded = reload(model, tmp_path)
    assert_same(loaded, model, pd.concat([X, unseen]))
    assert loaded.parents_ == model.parents_


@every_structured
def test_a_loaded_model_is_fitted_again(model, tmp_path):
    X, y = mixed_table()
    model = clone(model).fit(X, y)
    again = reload(model, tmp_path).fit(X, y)
    assert_same(again, model, X)


def test_a_fit_that_only_counts_is_told_from_its_parameters(tmp_path):
    X, y = mixed_table()
    model = KDBClassifier().fit(X, y).set_params(fitting="discriminative")
    assert_same(reload(model, tmp_path), model, X)


def test_terms_that_are_no_structure_are_refused(tmp_path):
    X, y = mixed_table()
    X = X[["color", "count", "on"]]
    model = KDBClassifier().fit(X, y)
    model._scorer = AnJEClassifier(n=2).fit(X, y)._scorer
    wanted = "not those of columns and their parents"
    with pytest.raises(ModelFileError, match=f"does not load again: .*{wanted}"):
        deepbroad.save(model, tmp_path / "model.dbl")
    path = tmp_path / "pairs.dbl"
    deepbroad.save(AnJEClassifier(n=2).fit(X, y), path)
    _, tensors = unpack_file(path.read_bytes(), version="")
    text = json.dumps({**json.loads(tensors["json"].tobytes()), "parameters": {}})
    tensors["json"] = np.frombuffer(text.encode(), np.uint8)
    path.write_bytes(pack_file(Stamp("0", "KDBClassifier"), tensors))
    with pytest.raises(ModelFileError, match=wanted):
        deepbroad.load(path)
