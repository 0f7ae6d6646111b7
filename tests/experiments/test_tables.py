import numpy as np
import pytest

from deepbroad.experiments.results import Results
from deepbroad.experiments.statistics import WinDrawLoss
from deepbroad.experiments.tables.appendix import tabulate_appendix
from deepbroad.experiments.tables.averages import tabulate_averages
from deepbroad.experiments.tables.claim import (
    HELD,
    LEANING,
    NOT_HELD,
    REVERSED,
    TOO_FEW,
    UNKNOWN,
    Alike,
    Crossing,
    Growing,
    Lower,
    judge_counts,
)
from deepbroad.experiments.tables.claims import CLAIMS, tabulate_claims
from deepbroad.experiments.tables.data_sets import tabulate_datasets
from deepbroad.experiments.tables.details import tabulate_details
from deepbroad.experiments.tables.not_run import tabulate_not_run
from deepbroad.experiments.tables.ranks import rank_methods, tabulate_ranks
from deepbroad.experiments.tables.slips import tabulate_slips
from deepbroad.experiments.tables.table import Table, write_html, write_markdown
from deepbroad.experiments.tables.win_draw_loss import tabulate_wins
from tests.experiments.rows_for_tests import (
    METHODS,
    PAPER_NAMES,
    fail,
    make_points,
    make_row,
    make_rows,
)

NOTHING = Results([])


@pytest.fixture(scope="module")
def results():
    return Results(make_rows(12), paper_names=PAPER_NAMES)


def _compare(ours, theirs, measure="error", n=8, methods=("DBL2", "A2JE")):
    """Results of two methods on `n` data sets, with these values of a measure."""
    values = [np.broadcast_to(value, n) for value in (ours, theirs)]
    return Results(
        make_row(f"set-{i}", method, **{measure: float(value[i])})
        for method, value in zip(methods, values, strict=True)
        for i in range(n)
    )


def _find(table, *starts):
    """The one line that starts with these cells."""
    (line,) = [line for line in table.lines if line[: len(starts)] == starts]
    return line


def test_markdown_sets_numbers_right_and_headings_bold():
    table = Table(("name", "loss"), [("Big",), ("a|b", "**0.1**")], "A note.")
    assert write_markdown(table).split("\n") == [
        "| name | loss |",
        "|---|---:|",
        "| **Big** |  |",
        "| a\\|b | **0.1** |",
        "",
        "A note.",
    ]


def test_html_escapes_cells():
    text = write_html(Table(("x",), [("<script>",), ("a & **b**",)]))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    # A line of one cell is a heading, also where the table has one column.
    assert "a &amp; <b>b</b>" in text


def test_a_table_without_lines_can_be_written():
    assert write_markdown(Table(("a", "b"), [])) == "| a | b |\n|---|---|"


def test_wins_stand_beside_the_papers():
    results = _compare(0.1, [0.2] * 7 + [0.05])
    table = tabulate_wins(results, [("DBL2", "A2JE")])
    line = _find(table, "Little", "0-1 loss")
    assert line[2:] == ("7/0/1", "0.070", "42/5/28", "0.119")
    assert _find(table, "Little", "bias")[2:] == ("–", "–", "66/4/5", "<0.001")
    assert _find(table, "Big", "0-1 loss")[2:4] == ("–", "–")
    assert "DBL² vs A2JE, Little: 8 data sets." in table.note
    assert "Bias and variance on 0" in table.note


def test_wins_name_the_data_sets_left_out(results):
    rows = [*results.rows, make_row("alone", "DBL2")]
    table = tabulate_wins(Results(rows, paper_names=PAPER_NAMES), [("DBL2", "A2JE")])
    assert "12 data sets, without alone." in table.note


def test_the_appendix_shows_differences_and_marks_the_slip():
    rows = [make_row("poker-hand", "DBL2", rmse=0.0207, error=0.0021, n_rows=100)]
    rows += [make_row("poker-hand", "A1JE", rmse=0.3, error=0.4988, n_rows=100)]
    results = Results(rows, paper_names=PAPER_NAMES)
    table = tabulate_appendix(results, NOTHING, "rmse")
    line = _find(table, "DBL²")
    assert line == ("DBL²", "0.0207", "0.0197 (slip: 0.1970)", "+0.0010", "+5.1 %", "")
    line = _find(table, "A1JE")
    assert line[4] == "**+25.9 %**"
    assert line[5]
    assert _find(table, "RF (numbers)")[1:3] == ("–", "not printed")
    assert _find(tabulate_appendix(results, NOTHING, "error"), "A1JE")[3:5] == ("+0.0000", "+0.0 %")
    assert "Covertype" in table.note


def test_the_appendix_says_where_a_search_was_cut_off():
    about = {"parameters": "DBLClassifier(alpha=0.01, max_iter=50, n=2)", "error": 0.0021}
    rows = [make_row("poker-hand", "DBL2", fold=fold, **about) for fold in (0, 1)]
    for iterations, remark in ((49, ""), (50, "the search was ended after 50 iterations")):
        rows[1]["iterations"] = iterations
        results = Results(rows, paper_names=PAPER_NAMES)
        assert _find(tabulate_appendix(results, NOTHING, "error"), "DBL²")[-1] == remark


def test_a_reconstructed_data_set_follows_the_one_of_the_protocol():
    names = PAPER_NAMES | {"again": "Covertype"}
    table = tabulate_appendix(
        Results([make_row("covertype", "A2JE", error=0.3)], paper_names=names),
        Results([make_row("again", "A2JE", error=0.2545)], paper_names=names),
        "error",
    )
    headings = [line[0].split(":")[0] for line in table.lines if len(line) == 1]
    assert headings == ["Covertype", "Covertype, reconstructed as the paper had it"]
    assert [line[1] for line in table.lines if line[0] == "A2JE"] == ["0.3000", "0.2545"]


def test_log_loss_has_no_printed_numbers(results):
    table = tabulate_appendix(results, NOTHING, "log_loss")
    assert table.header == ("method", "ours")
    assert all(len(line) <= 2 for line in table.lines)


def test_data_sets_show_what_ran(results):
    table = tabulate_datasets(results)
    assert len(table.lines) >= 77
    assert _find(table, "Adult")[1:5] == ("48,842", "15", "2", "700")
    assert _find(table, "Localization")[4:] == ("–",) * 4
    assert table.note.startswith("6 of the paper's 77")


def test_details_mark_the_best_of_a_line():
    table = tabulate_details(_compare(0.1, 0.2, n=1), "error", ["DBL2", "A2JE", "RF"])
    assert table.lines == [("set-0", "200", "**0.1000**", "0.2000", "–")]


def test_averages_are_over_dbl2(results):
    table = tabulate_averages(results, [("DBL2", "A2JE")])
    assert {line[3] for line in table.lines} == {"A2JE"}
    line = _find(table, "0-1 loss", "Little")
    expected, number = results.average("error", ["DBL2", "A2JE"], "little")
    assert line[2:] == (str(number), "A2JE", f"{expected['A2JE']:.3f}")


def test_ranks_are_sorted_and_leave_out_who_finished_too_little():
    rows = [
        make_row(f"set-{i}", method, error=error)
        for i in range(6)
        for method, error in (("DBL2", 0.2), ("A2JE", 0.3), ("RF", 0.1), ("LR3", 0.05))
        if method != "LR3" or i < 2
    ]
    ranking = rank_methods(Results(rows), "error", ["DBL2", "A2JE", "RF", "LR3"])
    assert ranking.methods == ["RF", "DBL2", "A2JE"]
    assert ranking.ranks.tolist() == [1, 2, 3]
    assert ranking.left_out == ["LR3"]
    table = tabulate_ranks(Results(rows), "error", ["DBL2", "A2JE", "RF", "LR3"])
    assert table.header == ("method", "rank", "DBL²", "A2JE")
    assert table.lines[0][0] == "RF"
    assert "6 Little data sets" in table.note
    assert "LR³" in table.note


def test_ranks_of_nothing_say_so():
    assert rank_methods(Results([]), "error", METHODS) is None
    assert "Too few" in tabulate_ranks(Results([]), "error", METHODS).note


def test_slips_are_listed():
    assert any(line[1] == "0.1970" for line in tabulate_slips().lines)


def test_what_could_not_be_run_has_its_reason():
    rows = [fail(make_row("a", "LR3", fold=fold), "timeout", "600 s\nmore") for fold in (0, 1)]
    table = tabulate_not_run(Results(rows), {"b": "nowhere", "c": "not asked for", "d": "nowhere"})
    assert table.lines == [
        ("b, d", "all", "missing", "–", "nowhere"),
        ("c", "all", "missing", "–", "not asked for"),
        ("a", "LR³", "timeout", "2", "600 s"),
    ]
    assert tabulate_not_run(Results([]), {}).note == "Everything ran."


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((9, 1, 0), HELD),
        ((5, 0, 3), LEANING),
        ((3, 0, 0), LEANING),
        ((3, 9, 2), TOO_FEW),
        ((1, 0, 1), TOO_FEW),
        ((4, 0, 4), NOT_HELD),
        ((3, 0, 5), NOT_HELD),
        ((0, 5, 9), REVERSED),
    ],
)
def test_counts_are_judged_by_the_sign_test(counts, verdict):
    assert judge_counts(WinDrawLoss(*counts)) == verdict


def test_a_lower_value_is_held_and_its_opposite_reversed():
    results = _compare(0.1, 0.2)
    held = Lower("DBL2", "A2JE", "error").judge(results, [])
    assert held[1:] == ("8/0/0", "**0.008**", "42/5/28", HELD)
    assert "0.51×" in held.what  # (0.1 + 1/400) / (0.2 + 1/400)
    turned = Lower("A2JE", "DBL2", "error").judge(results, [])
    assert turned.printed == "28/5/42"
    assert turned.verdict == REVERSED
    assert Lower("DBL2", "RF", "error").judge(results, []).verdict == UNKNOWN


def test_losses_are_alike_but_for_the_exception():
    theirs = np.full(10, 0.2)
    theirs[3] = 0.5
    results = _compare(0.2, theirs, n=10, methods=("DBL2", "LR2"))
    assert Alike("DBL2", "LR2", "error").judge(results, []).verdict == HELD
    theirs[4] = 0.5
    results = _compare(0.2, theirs, n=10, methods=("DBL2", "LR2"))
    found = Alike("DBL2", "LR2", "error").judge(results, [])
    assert found.verdict == NOT_HELD
    assert "on 8 of 10; most apart: set-3 -0.300, set-4 -0.300" in found.what
    assert Alike("DBL2", "LR2", "error", apart=("set-3", "set-4")).judge(results, [])[-1] == HELD


def test_an_advantage_grows_if_the_ratio_does():
    iterations = {"DBL1": 10, "LR1": 20, "DBL2": 10, "LR2": 40}
    results = Results(
        make_row(f"set-{i}", method, iterations=steps)
        for i in range(7)
        for method, steps in iterations.items()
    )
    found = Growing("DBL", "LR", "iterations", 2).judge(results, [])
    assert found[1] == "7/0/0"
    assert found.verdict == HELD
    assert "4.00× after 2.00×" in found.what
    assert Growing("DBL", "LR", "iterations", 3).judge(results, []).verdict == UNKNOWN


def test_curves_cross_if_the_later_one_was_behind_and_ends_ahead():
    points = make_points()
    found = Crossing("NB", "KDB5").judge(Results([]), points)
    assert found.verdict == HELD
    assert "0.610 and 0.530 at 100 hands, 0.200 and 0.500 at 100,000 hands" in found.what
    below = [p for p in points if p.method == "NB" or p.n_train > 1_000]
    assert Crossing("NB", "KDB5").judge(Results([]), below).verdict == NOT_HELD
    assert Crossing("KDB5", "NB").judge(Results([]), points).verdict == NOT_HELD
    assert Crossing("NB", "RF").judge(Results([]), points).verdict == UNKNOWN


def test_every_claim_is_judged(results):
    table = tabulate_claims(results, make_points())
    headings = [line[0] for line in table.lines if len(line) == 1]
    assert len(headings) == len(CLAIMS)
    assert "DBL takes fewer iterations than LR: held" in headings
    assert all(line[-1] != UNKNOWN for line in table.lines)
    held = sum(heading.endswith(": held") for heading in headings)
    assert table.note.startswith(f"{held} of {len(CLAIMS)} claims")


def test_claims_without_rows_are_unknown():
    table = tabulate_claims(Results([]), [])
    assert {line[-1] for line in table.lines if len(line) > 1} == {UNKNOWN}
    assert write_markdown(table)
