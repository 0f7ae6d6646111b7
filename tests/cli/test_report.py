"""`deepbroad report` and the way from a table to it, as a user types it."""

from tests.cli.commands import flatten, loans, run, succeed


def test_from_a_table_to_a_report(tmp_path):
    table, model, page = (tmp_path / name for name in ("t.csv", "m.dbl", "report.html"))
    loans().to_csv(table, index=False)
    succeed("fit", table, "--target", "paid", "-n", 1, "--alpha", 1, "-o", model, "-q")
    result = run("report", model, table, "--target", "paid", "--out", page)
    assert result.exit_code == 0, result.output
    assert f"{page.stat().st_size:,} bytes" in flatten(result.output)
    text = page.read_text(encoding="utf-8")
    assert "<h1>m.dbl on t.csv</h1>" in text
    assert "the rows that the model was trained on" in text


def test_quiet_prints_nothing_and_errors_are_sentences(tmp_path):
    table, model, page = (tmp_path / name for name in ("t.parquet", "m.dbl", "report.html"))
    loans().to_parquet(table)
    succeed("fit", table, "--target", "paid", "--model", "tan", "-o", model)
    result = run("report", model, table, "--target", "paid", "-o", page, "-q")
    assert (result.exit_code, result.output) == (0, "")
    for arguments, message in (
        ((model, table, "--target", "owed"), "no column 'owed'"),
        ((model, table, "--target", "job"), "an attribute of the model"),
        ((model, table, "--target", "paid", "-o", tmp_path / "no" / "r.html"), "no folder"),
    ):
        result = run("report", *arguments)
        assert result.exit_code == 1
        assert message in flatten(result.output)
        assert "Traceback" not in result.output


def test_shells_can_complete_commands():
    assert "--install-completion" in succeed("--help")
