"""Scripts under examples/ run as they are, on fewer rows."""

import re
import runpy
import sys

import pytest

from tests.docs.pages import ROOT

FOLDER = ROOT / "examples"


@pytest.fixture
def run_example(tmp_path, monkeypatch, capsys):
    """Return a function that runs a script in an empty folder and returns what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(FOLDER)

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(FOLDER / name), run_name="__main__")
        return capsys.readouterr().out

    yield run
    sys.modules.pop("survey", None)


def test_a_survey_is_written_as_a_table_of_words_numbers_and_gaps(run_example, tmp_path):
    run_example("survey.py", "s.csv", 50)
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0] == '"age","education","work","hours","region","income"'
    assert len(lines) == 51
    assert any(",," in line for line in lines)


def test_a_first_model_beats_naive_bayes(run_example):
    printed = run_example("first_model.py", 2000)
    losses = re.findall(r"log loss ([\d.]+)", printed)
    assert len(losses) == 2
    assert float(losses[0]) < float(losses[1])


def test_pairs_of_cards_tell_more_than_single_ones(run_example):
    errors = re.findall(r"error ([\d.]+)", run_example("poker_hands.py", 8000))
    assert len(errors) == 4
    assert max(map(float, errors[2:])) < min(map(float, errors[:2]))


def test_files_are_fitted_to_the_end(run_example):
    printed = run_example("big_files.py", 2000)
    assert "held-out loss" in printed
    assert "of 2,000 hands" in printed


def test_the_planted_pair_is_the_first_that_an_explanation_names(run_example, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    printed = run_example("explain_model.py", 2000)
    pairs = [line for line in printed.splitlines() if " & " in line]
    assert pairs[0].split()[:3] == ["work", "&", "hours"]
    for name in ("importances.png", "work-hours.png", "row.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_an_export_says_the_same_in_sqlite(run_example, tmp_path):
    printed = run_example("export_model.py", 500)
    (difference,) = re.findall(r"differ by (\S+)", printed)
    assert float(difference) < 1e-5
    assert (tmp_path / "people.json").stat().st_size > 0


def test_every_example_is_run():
    text = (ROOT / "tests" / "docs" / "test_examples.py").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.py"):
        assert f'run_example("{path.name}"' in text
