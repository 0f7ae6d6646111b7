"""Reports say what the model and the rows say, and hold whatever names and values there are."""

import builtins
import errno
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

import deepbroad
from deepbroad import AnDEClassifier, AnJEClassifier, LRClassifier
from deepbroad.report import effect_data, write_report
from deepbroad.report.scored_rows import score_rows
from tests.report.reports import HOSTILE, Page, hostile_names, three_classes, two_classes


def report_on(model, X, y, folder):
    path = write_report(model, X, y, folder / "report.html")
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def three():
    return three_classes()


@pytest.fixture(scope="module")
def two():
    return two_classes()


def test_measures_and_confusions_are_scikit_learns(two, tmp_path):
    model, X, y = two
    cells = report_on(model, X, y, tmp_path).cells
    p = model.predict_proba(X)
    assert f"{log_loss(y, p):.4f}" in cells
    assert f"{roc_auc_score(y == model.classes_[1], p[:, 1]):.4f}" in cells
    for row in confusion_matrix(y, model.predict(X)):
        assert {f"{k:,} ({k / row.sum():.0%})" for k in row} <= set(cells)


def test_effects_are_those_of_the_explanation(three, tmp_path):
    model, X, y = three
    data = report_on(model, X, y, tmp_path).data
    explanation = model.explain()
    assert len(data["effects"]) == len(explanation.effects)
    assert [bar[0] for bar in data["bars"]] == explanation.importances["effect"].to_pylist()
    for effect in data["effects"]:
        table = explanation.tables[tuple(effect["attributes"])]
        shape = [len(values) for values in effect["values"]]
        for place, scores in enumerate(effect["scores"]):
            found = np.reshape(scores, shape)
            np.testing.assert_allclose(found, table.scores[..., place], atol=6e-4)


@pytest.mark.parametrize("classes", ["two", "three"])
def test_contributions_of_a_row_sum_to_its_log_odds(classes, tmp_path, request):
    model, X, y = request.getfixturevalue(classes)
    data = report_on(model, X, y, tmp_path).data
    log_odds = model.decision_function(X)
    for row in data["rows"][:20]:
        total = np.sum(row["scores"], axis=1) + row["intercept"] + row["rest"]
        expected = np.atleast_1d(log_odds[row["row"]])
        np.testing.assert_allclose(total, expected, atol=0.02)  # of three decimals each
        assert data["names"][row["y"]] == y[row["row"]]
        assert data["names"][row["best"]] == model.predict(X)[row["row"]]


def test_hostile_names_and_values_stay_text(tmp_path):
    model, X, y = hostile_names()
    path = write_report(model, X, y, tmp_path / "r.html", title=f"t{HOSTILE}")
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert page.tags.count("title") == 1
    assert "onerror=alert(1)>" not in text.replace("&gt;", "")
    assert any(cell.startswith(f"p{HOSTILE}"[:20]) or HOSTILE[:10] in cell for cell in page.cells)
    assert any("$title" in values for e in page.data["effects"] for values in e["values"])


def test_nothing_is_loaded_from_anywhere(three, tmp_path):
    page = report_on(*three, tmp_path)
    assert all(link.startswith("#") for link in page.links)
    assert not {"link", "iframe", "img", "object", "embed"} & {*page.tags}


def test_a_report_that_finds_no_room_leaves_the_old_one(two, tmp_path, monkeypatch):
    model, X, y = two
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_report(model, X, y, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_training_rows_are_recognised(three, tmp_path):
    model, X, y = three
    for rows, known in ((slice(None), True), (slice(1, None), False)):
        path = write_report(model, X[rows], y[rows], tmp_path / "r.html")
        assert ("the rows that the model was trained on" in path.read_text("utf-8")) == known


def test_files_give_the_report_of_their_table(two, tmp_path):
    model, X, y = two
    table = X.assign(kind=y)
    table.to_parquet(tmp_path / "rows.parquet")
    path = write_report(model, tmp_path / "rows.parquet", "kind", tmp_path / "files.html")
    own = write_report(model, X, y, tmp_path / "memory.html")
    assert path.read_text("utf-8") == own.read_text("utf-8")


def test_labels_that_look_like_numbers_in_csv_are_known(tmp_path):
    X = pd.DataFrame({"a": ["p", "q"] * 30, "code": ["01", "02", "03"] * 20})
    y = np.array(["0", "1"] * 30)
    model = LRClassifier(n=1).fit(X, y)
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    assert np.array_equal(score_rows(model, tmp_path / "rows.csv", "y").y, y == "1")


def test_long_tables_are_thinned_evenly(two, tmp_path):
    model, X, y = two
    whole, some = score_rows(model, X, y), score_rows(model, X, y, most=len(y) // 3)
    assert some.stride == 4 - (len(y) % 3 == 0)
    np.testing.assert_array_equal(some.codes, whole.codes[:, :: some.stride])
    X.assign(kind=y).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    from_files = score_rows(model, tmp_path / "rows.parquet", "kind", most=len(y) // 3)
    np.testing.assert_array_equal(from_files.y, some.y)
    np.testing.assert_array_equal(from_files.codes, some.codes)


def test_size_is_bounded_and_what_is_left_out_is_counted(three, tmp_path, monkeypatch):
    model, X, y = three
    monkeypatch.setattr(effect_data, "MOST_NUMBERS", 100)
    monkeypatch.setattr(effect_data, "MOST_ROWS", 12)
    monkeypatch.setattr(effect_data, "WORST_ROWS", 4)
    monkeypatch.setattr(effect_data, "MOST_BARS", 3)
    data = report_on(model, X, y, tmp_path).data
    numbers = sum(len(own) for effect in data["effects"] for own in effect["scores"])
    assert numbers <= 100
    assert data["left_out"] == len(model.explain().effects) - len(data["effects"]) > 0
    assert len(data["rows"]) == 12
    assert len(data["bars"]) == 3
    worst = score_rows(model, X, y).losses.argsort()[-4:]
    assert {*worst.tolist()} <= {row["row"] for row in data["rows"]}


def test_many_classes_are_the_most_frequent_and_the_others(tmp_path):
    rng = np.random.default_rng(0)
    y = np.minimum(rng.geometric(0.05, 900), 60)
    X = pd.DataFrame({"a": (y % 7).astype(str), "b": (y % 5).astype(str)})
    page = report_on(AnJEClassifier(n=1).fit(X, y), X, y, tmp_path)
    assert "other classes" in page.cells
    assert len(page.data["classes"]) == 20
    assert len(page.data["effects"][0]["scores"]) == 20
    assert page.data["loss"] == []
    assert {row["best"] for row in page.data["rows"]} <= {*page.data["classes"]}


def test_a_model_without_effects_has_a_report_that_says_so(tmp_path):
    _, X, y = three_classes()
    data = report_on(AnDEClassifier(n=1).fit(X, y), X, y, tmp_path).data
    assert "no sum of" in data["unexplained"]
    assert "effects" not in data


def test_never_seen_values_and_one_class_of_rows_are_no_trouble(two, tmp_path):
    model, X, y = two
    own = X[y == y[0]].assign(colour="ultraviolet")
    page = report_on(model, own, y[y == y[0]], tmp_path)
    assert page.data["curves"] is None
    assert "100.0%" in page.cells
    assert "never seen" in page.data["rows"][0]["values"]


def test_reports_need_no_matplotlib(three, tmp_path, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert deepbroad.report.write_report(*three, tmp_path / "report.html").exists()


def test_bad_rows_are_refused(three, tmp_path):
    model, X, y = three
    with pytest.raises(ValueError, match="rows and y has"):
        write_report(model, X, y[1:], tmp_path / "r.html")
    with pytest.raises(ValueError, match="right column"):
        write_report(model, X[:1], ["dog"], tmp_path / "r.html")
    with pytest.raises(TypeError, match="name of one of their columns"):
        write_report(model, tmp_path / "rows.csv", y, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_the_recipe_and_what_was_tried_are_told(two, tmp_path):
    _, X, y = two
    model = deepbroad.DBLClassifier(n=1).fit(X, y)
    trials = [{"what": "b<", "loss": 0.5 - i / 1000} for i in range(32)]
    model.selection_ = {"loss": 0.25, "left out": {}, "warnings": ["a<b"], "trials": trials}
    path = tmp_path / "chosen.html"
    write_report(model, X, y, path)
    text = path.read_text(encoding="utf-8")
    assert str(model.recipe_).splitlines()[0] in text
    assert all(part in text for part in (">0.25<", "a&lt;b", "b&lt;", ">0.469<"))
    assert "2 worse trials are left out" in text
    assert ">0.5<" not in text
    assert "left out</" not in text
