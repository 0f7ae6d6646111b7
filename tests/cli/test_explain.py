"""`deepbroad explain` and `deepbroad info`, as a user types them."""

import json

import pandas as pd
import pytest

import deepbroad
from tests.cli.commands import flatten, loans, run, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    loans().to_csv(folder / "loans.csv", index=False)
    succeed(
        "fit", folder / "loans.csv", "--target", "paid", "-n", 2, "--alpha", "1,3",
        "-o", folder / "m.dbl",
    )  # fmt: skip
    return folder


def test_the_model_is_explained_by_its_effects(folder):
    explanation = deepbroad.load(folder / "m.dbl").explain()
    printed = succeed("explain", folder / "m.dbl", "--top", 3)
    for effect in explanation.importances["effect"].to_pylist()[:3]:
        assert effect in printed
    assert f"{len(explanation.effects) - 3} smaller effects" in flatten(printed)
    found = json.loads(succeed("explain", folder / "m.dbl", "--json"))
    assert [one["effect"] for one in found["effects"]] == explanation.importances[
        "effect"
    ].to_pylist()


def test_titles_are_as_wide_as_they_need(tmp_path):
    table = loans()[["job", "paid"]].rename(columns={"job": "j"})
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "paid", "--model", "anje", "-n", 1)
    succeed(*fit, "-o", tmp_path / "m.dbl")
    printed = succeed("explain", tmp_path / "m.dbl")
    assert printed.splitlines()[0].strip() == "Effects by the standard deviation of their log odds"
    row = succeed("explain", tmp_path / "m.dbl", tmp_path / "t.csv", "--row", 2)
    assert row.splitlines()[0].startswith("Row 2: probability ")
    assert " of " in row.splitlines()[0]


def test_a_row_is_explained_by_what_its_effects_add(folder):
    model = deepbroad.load(folder / "m.dbl")
    X = pd.read_csv(folder / "loans.csv").drop(columns="paid")[7:8]
    for label, sign in (("yes", 1), ("no", -1)):
        found = json.loads(
            succeed(
                "explain", folder / "m.dbl", folder / "loans.csv", "--row", 7, "--class", label,
                "--top", 4, "--json",
            )
        )  # fmt: skip
        total = found["intercept"] + found["rest"] + sum(e["log odds"] for e in found["effects"])
        assert total == pytest.approx(sign * model.decision_function(X)[0], abs=1e-5)
        assert total == pytest.approx(found["log odds"])
        assert len(found["effects"]) == 4
    printed = succeed("explain", folder / "m.dbl", folder / "loans.csv", "--row", 7)
    assert f"{model.predict_proba(X).max():.1%} of {model.predict(X)[0]}" in flatten(printed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row", 300], "the last is --row 299"),
        (["--class", "maybe"], "no class 'maybe'. All classes: 'no', 'yes'."),
    ],
)
def test_rows_and_classes_that_are_not_there_are_refused(folder, arguments, message):
    result = run("explain", folder / "m.dbl", folder / "loans.csv", *arguments)
    assert result.exit_code == 1
    assert message in flatten(result.output)


@pytest.mark.parametrize("row", [0, 3])
def test_a_row_without_a_table_is_refused(folder, row):
    result = run("explain", folder / "m.dbl", "--row", row)
    assert result.exit_code == 2
    assert "give the table that --row is a row of" in flatten(result.output.replace("│", " "))


def test_a_class_that_is_not_there_is_refused_without_a_table_too(folder):
    result = run("explain", folder / "m.dbl", "--class", "maybe")
    assert result.exit_code == 1
    assert "no class 'maybe'. All classes: 'no', 'yes'." in flatten(result.output)


def test_effects_can_be_those_on_one_class(tmp_path):
    table = loans().assign(paid=lambda t: t["paid"].mask(t["job"] == "clerk", "late"))
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "m.dbl"
    succeed("fit", tmp_path / "t.csv", "--target", "paid", "--model", "anje", "-n", 1, "-o", out)
    expected = deepbroad.load(out).explain().importances.to_pandas()
    expected = expected.sort_values("importance for yes", ascending=False)
    found = json.loads(succeed("explain", out, "--class", "yes", "--json"))
    assert found["class"] == "yes"
    assert [one["effect"] for one in found["effects"]] == expected["effect"].tolist()
    assert [one["importance"] for one in found["effects"]] == pytest.approx(
        expected["importance for yes"].tolist()
    )
    assert sum(one["share"] for one in found["effects"]) == pytest.approx(1)
    assert "log odds of yes" in flatten(succeed("explain", out, "--class", "yes"))


def test_the_effects_of_two_classes_are_the_same(folder):
    whole = json.loads(succeed("explain", folder / "m.dbl", "--json"))
    for label in ("no", "yes"):
        found = json.loads(succeed("explain", folder / "m.dbl", "--class", label, "--json"))
        assert found == {"class": label, **whole}


def test_info_shows_settings_classes_and_attributes(folder):
    printed = succeed("info", folder / "m.dbl")
    for text in ("DBLClassifier", "age", "number", "job", "category", "clerk"):
        assert text in printed
    found = json.loads(succeed("info", folder / "m.dbl", "--json"))
    assert found["classes"] == ["no", "yes"]
    assert found["parameters"]["n"] == 2
    assert [one["name"] for one in found["columns"]] == ["age", "job", "zip", "debt"]
    assert found["bytes"] == (folder / "m.dbl").stat().st_size


def test_names_like_markup_are_printed_as_they_are(tmp_path):
    table = loans().rename(columns={"job": "[bold]job[/bold]"}).replace("cook", "[red]cook")
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "m.dbl"
    succeed("fit", tmp_path / "t.csv", "--target", "paid", "--model", "anje", "-n", 1, "-o", out)
    for printed in (succeed("info", out), succeed("explain", out)):
        assert "[bold]job[/bold]" in printed
    assert "[red]cook" in succeed("info", out)
