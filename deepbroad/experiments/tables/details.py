"""Every data set by every method: one measure, the numbers behind all comparisons."""

from collections.abc import Sequence

import numpy as np

from deepbroad.experiments.labels import measure_label, method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table


def tabulate_details(results: Results, measure: str, methods: Sequence[str]) -> Table:
    """List a measure of each method on each data set, the best of a line in bold."""
    columns = [
        dict(zip(found.datasets, found.values[:, 0], strict=True))
        for found in (results.compare(measure, [method]) for method in methods)
    ]
    lines = []
    for name in results.datasets():
        values = np.array([column.get(name, np.nan) for column in columns])
        if np.isnan(values).all():
            continue
        least = np.nanmin(np.round(values, 4))
        lines.append((name, f"{results.n_rows(name):,}", *(_write(v, least) for v in values)))
    return Table(
        ("data set", "rows", *map(method_label, methods)),
        lines,
        f"{measure_label(measure)}, the mean over each method's own finished folds; – where none "
        "finished.",
    )


def _write(value: float, least: float) -> str:
    """Write one number, in bold if no other of its line is lower."""
    if np.isnan(value):
        return "–"
    return f"**{value:.4f}**" if np.round(value, 4) == least else f"{value:.4f}"
