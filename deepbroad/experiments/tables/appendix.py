"""The appendix: losses on the Big data sets, ours beside the paper's, and what differs."""

import re
from collections.abc import Sequence

from deepbroad.experiments.decomposition import Row
from deepbroad.experiments.explanations import explain
from deepbroad.experiments.labels import measure_label, method_label
from deepbroad.experiments.published import (
    big_datasets,
    corrected_loss,
    printed_loss,
    printed_methods,
)
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table

_METHODS = ("A1JE", "A2JE", "A3JE", "A1DE", "A2DE", "DBL1", "DBL2", "DBL3", "RF", "RF-raw")
# A difference above this share of the printed number has to be explained.
_TOLERATED = 0.10
_HALF_DIGIT = 5e-5


def tabulate_appendix(results: Results, reconstructed: Results, measure: str) -> Table:
    """List a measure of every method on each Big data set, beside the printed number.

    A data set that was reconstructed as the paper had it follows the one of the protocol.
    """
    lines: list[tuple[str, ...]] = []
    for printed in big_datasets():
        for found, kind in ((results, ""), (reconstructed, ", reconstructed as the paper had it")):
            for name in _named(found, printed):
                lines += _list_methods(found, measure, printed, name, kind)
    absent = [name for name in big_datasets() if not _named(results, name)]
    note = f"{measure_label(measure)}, the mean over the folds that finished."
    if absent:
        note += f" Not run: {', '.join(absent)}."
    if measure not in ("error", "rmse"):
        note += " The paper does not print it."
        header: Sequence[str] = ("method", "ours")
        return Table(tuple(header), [line[:2] for line in lines], note)
    header = ("method", "ours", "paper", "difference", "relative", "why, if above 10 %; remarks")
    return Table(header, lines, note)


def _named(results: Results, printed: str) -> list[str]:
    """Name the data sets that the paper calls so."""
    return [name for name in results.datasets("big") if results.paper_names.get(name) == printed]


def _list_methods(
    results: Results, measure: str, printed: str, name: str, kind: str
) -> list[tuple[str, ...]]:
    """Write the lines of one data set, a heading first."""
    folds = max((len(results.finished(name, method)) for method in _METHODS), default=0)
    heading = f"{printed}{kind}: {results.n_rows(name):,} rows, {folds} folds at most"
    return [(heading,), *(_compare(results, measure, m, printed, name) for m in _METHODS)]


def _compare(
    results: Results, measure: str, method: str, printed: str, name: str
) -> tuple[str, ...]:
    """Write one line: ours, the paper's, the difference and its reason."""
    values = results.compare(measure, [method], "big")
    ours = dict(zip(values.datasets, values.values[:, 0], strict=True)).get(name)
    theirs = corrected_loss(measure, method, printed)
    shown = _show_printed(measure, method, printed)
    if ours is None or theirs is None:
        return (method_label(method), "–" if ours is None else f"{ours:.4f}", shown, "–", "–", "")
    reasons = _cut_off(results.finished(name, method))
    difference = ours - theirs
    relative = difference / theirs
    is_large = abs(relative) > _TOLERATED and abs(difference) > _HALF_DIGIT
    percent = f"{100 * relative:+.1f} %"
    if is_large:
        reasons.append(explain(printed, method, measure))
    return (
        method_label(method),
        f"{ours:.4f}",
        shown,
        f"{difference:+.4f}",
        f"**{percent}**" if is_large else percent,
        "; ".join(reasons),
    )


def _cut_off(rows: Sequence[Row]) -> list[str]:
    """Say so if a search ended at its limit of iterations."""
    for row in rows:
        limit = re.search(r"max_iter=(\d+)", row.get("parameters") or "")
        if limit and (row["iterations"] or 0) >= int(limit[1]):
            return [f"the search was ended after {limit[1]} iterations"]
    return []


def _show_printed(measure: str, method: str, printed: str) -> str:
    """Write the paper's number, a slip with what it must be."""
    given, corrected = (
        look_up(measure, method, printed) for look_up in (printed_loss, corrected_loss)
    )
    if given is None:
        return "–" if method in printed_methods(measure) else "not printed"
    return f"{given:.4f}" if given == corrected else f"{corrected:.4f} (slip: {given:.4f})"
