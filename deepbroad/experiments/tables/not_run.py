"""What could not be run: missing data sets, and folds that did not finish."""

from collections import defaultdict
from collections.abc import Mapping

from deepbroad.experiments.labels import method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table

_LONGEST = 160


def tabulate_not_run(results: Results, missing: Mapping[str, str]) -> Table:
    """List missing data sets with their reasons, and what did not finish with its message."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, reason in sorted(missing.items()):
        alike[reason].append(name)
    lines: list[tuple[str, ...]] = [
        (", ".join(names), "all", "missing", "–", reason) for reason, names in alike.items()
    ]
    failed: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in results.rows:
        if row["status"] != "done":
            key = (row["dataset"], row["method"], row["status"])
            failed[key].append(row["message"] or "")
    for (dataset, method, status), messages in sorted(failed.items()):
        number = str(len(messages))
        lines.append((dataset, method_label(method), status, number, _shorten(messages[0])))
    note = "" if lines else "Everything ran."
    return Table(("data set", "method", "what", "folds", "why"), lines, note)


def _shorten(message: str) -> str:
    """Take the first line of a message, cut where it is long."""
    first = message.strip().split("\n")[0]
    return first if len(first) <= _LONGEST else first[: _LONGEST - 1] + "…"
