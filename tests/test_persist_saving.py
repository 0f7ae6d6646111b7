"""A file that was saved can be loaded: it is read back before it replaces an older one."""

import json

import numpy as np
import pandas as pd
import pytest

import deepbroad
from deepbroad import AnJEClassifier, DBLClassifier, ModelFileError
from deepbroad.persist import model_file
from deepbroad.persist.container import Stamp, pack_file, unpack_file

RNG = np.random.default_rng(0)
A, B = RNG.choice(list("abc"), 120), RNG.choice(list("xyz"), 120)
Y = np.where((A == "a") ^ (RNG.random(120) < 0.2), "yes", "no")
TABLES = {
    "one of two columns is constant": pd.DataFrame({"a": A, "same": "k"}),
    "one of three columns is constant": pd.DataFrame({"a": A, "b": B, "same": "k"}),
    "all columns are constant": pd.DataFrame({"same": "k", "also": ["v"] * 120}),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_a_model_none_of_whose_deepest_tuples_is_left_survives(X, n, tmp_path):
    model = DBLClassifier(n=min(n, X.shape[1]), alpha=1.0, orders="all").fit(X, Y)
    deepbroad.save(model, tmp_path / "model.dbl")
    loaded = deepbroad.load(tmp_path / "model.dbl")
    assert loaded.terms_ == model.terms_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_the_default_model_of_a_column_and_a_constant_one_survives(tmp_path):
    X = TABLES["one of two columns is constant"]
    model = DBLClassifier(n=2).fit(X, Y)
    deepbroad.save(model, tmp_path / "model.dbl")
    loaded = deepbroad.load(tmp_path / "model.dbl")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def widen(data):
    """Return a file whose list of terms has a column more than its deepest term."""
    stamp, tensors = unpack_file(data, version="")
    terms = tensors["terms"]
    n_columns = len(json.loads(tensors["json"].tobytes())["encoding"]["names"])
    padding = np.full((len(terms), 1), n_columns, terms.dtype)
    tensors["terms"] = np.concatenate([terms, padding], axis=1)
    return bytes(pack_file(Stamp("0.1", stamp.class_name), tensors))


def test_a_file_of_an_earlier_version_with_wide_terms_loads(tmp_path):
    X = TABLES["one of three columns is constant"]
    model = DBLClassifier(n=3, alpha=1.0, orders="all").fit(X, Y)
    path = tmp_path / "model.dbl"
    deepbroad.save(model, path)
    path.write_bytes(widen(path.read_bytes()))
    loaded = deepbroad.load(path)
    assert loaded._scorer.model.plan.terms.members.shape == (3, 2)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.fixture
def older(tmp_path):
    """A file with an older model."""
    path = tmp_path / "model.dbl"
    deepbroad.save(AnJEClassifier().fit(TABLES["one of three columns is constant"], Y), path)
    return path


def refuse(path):
    """Save a model where an older one is; return the error, having seen that this one stays."""
    model = DBLClassifier(n=2, alpha=1.0).fit(TABLES["one of three columns is constant"], Y)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="This DBLClassifier cannot be saved: ") as caught:
        deepbroad.save(model, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    return str(caught.value)


def test_a_file_that_would_not_load_is_not_kept(older, monkeypatch):
    pack = model_file.pack_plan

    def damage(plan):
        data, tensors = pack(plan)
        return {**data, "depth": 9}, tensors

    monkeypatch.setattr(model_file, "pack_plan", damage)
    assert "does not load again: it joins 9 columns of 3" in refuse(older)


def test_a_file_that_would_load_as_another_model_is_not_kept(older, monkeypatch):
    unpack = model_file.unpack_cells

    def change(tensors, plan, class_scores):
        return unpack(tensors, plan, class_scores + 1.0)

    monkeypatch.setattr(model_file, "unpack_cells", change)
    assert "'class_scores' is not the same after it was read back" in refuse(older)


def test_a_file_that_a_disk_changed_is_not_kept(older, monkeypatch):
    pack = model_file.pack_file

    def damage(stamp, tensors):
        data = pack(stamp, tensors)
        data[-1] ^= 1
        return data

    monkeypatch.setattr(model_file, "pack_file", damage)
    assert "does not load again: its checksum does not match" in refuse(older)


def test_a_large_model_is_saved_though_memory_to_predict_is_short(tmp_path, monkeypatch):
    model = DBLClassifier(n=2, alpha=1.0).fit(TABLES["one of three columns is constant"], Y)
    monkeypatch.setattr(model_file, "parse_limit", lambda limit: 10)
    # The system would end a process that builds what does not fit.
    monkeypatch.setattr(model_file, "unpack_cells", pytest.fail)
    deepbroad.save(model, tmp_path / "model.dbl")
    with pytest.raises(MemoryError, match="10 B are free"):
        deepbroad.load(tmp_path / "model.dbl")


def test_a_model_is_saved_though_memory_ends_while_it_is_read_back(tmp_path, monkeypatch):
    X = TABLES["one of three columns is constant"]
    model = DBLClassifier(n=2, alpha=1.0).fit(X, Y)

    def run_out(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(model_file, "unpack_cells", run_out)
        deepbroad.save(model, tmp_path / "model.dbl")
    again = deepbroad.load(tmp_path / "model.dbl").predict_proba(X)
    np.testing.assert_array_equal(again, model.predict_proba(X))
