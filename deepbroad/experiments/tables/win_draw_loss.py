"""Win-draw-loss of DBL² and DBL³ against another family, the paper's counts beside ours."""

from collections.abc import Sequence

from deepbroad.experiments.labels import group_label, measure_label, method_label, p_label
from deepbroad.experiments.published import printed_comparison
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table

_MEASURES = {
    "little": ("bias", "variance", "error", "rmse", "log_loss"),
    "big": ("error", "rmse", "log_loss"),
}


def tabulate_wins(results: Results, pairs: Sequence[tuple[str, str]]) -> Table:
    """Compare each pair of methods on Little and Big data sets; a win is the lower value."""
    header = ["", "measure"]
    for ours, theirs in pairs:
        name = f"{method_label(ours)} vs {method_label(theirs)}"
        header += [name, "p", "paper", "paper's p"]
    lines: list[tuple[str, ...]] = []
    for group, measures in _MEASURES.items():
        for measure in measures:
            cells = [group_label(group), measure_label(measure)]
            for ours, theirs in pairs:
                cells += _compare(results, group, measure, ours, theirs)
            lines.append(tuple(cells))
    return Table(tuple(header), lines, _describe_sets(results, pairs))


def _compare(results: Results, group: str, measure: str, ours: str, theirs: str) -> list[str]:
    """Write our counts and p, and the paper's."""
    counts = results.count_wins(measure, ours, theirs, group)
    found = [str(counts), p_label(counts.p)] if counts.total else ["–", "–"]
    printed = printed_comparison(group, ours, theirs, measure)
    return [*found, *((str(printed.counts), printed.p) if printed else ("–", "–"))]


def _describe_sets(results: Results, pairs: Sequence[tuple[str, str]]) -> str:
    """Say on how many data sets each pair was compared, and which are left out."""
    parts = [
        "Wins, draws (equal at four decimals) and losses of the first method; a win is the lower "
        "value. p is the two-tailed sign test, bold at 0.05 or less. The paper has no log loss."
    ]
    for pair in pairs:
        name = " vs ".join(map(method_label, pair))
        for group in _MEASURES:
            found = results.compare("error", pair, group)
            text = f"{name}, {group_label(group)}: {len(found.datasets)} data sets"
            if found.left_out:
                text += f", without {', '.join(sorted(found.left_out))}"
            parts.append(text + ".")
        decomposed = results.compare("bias", pair, "little")
        if len(decomposed.datasets) < len(results.compare("error", pair, "little").datasets):
            parts.append(f"Bias and variance on {len(decomposed.datasets)} (two rounds at least).")
    return " ".join(parts)
