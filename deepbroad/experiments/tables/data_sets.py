"""The table of data sets: the paper's beside those that ran."""

from deepbroad.experiments.published import dataset_sizes
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table


def tabulate_datasets(results: Results) -> Table:
    """List the paper's data sets with its sizes and ours, and on how many methods each ran."""
    ours = {results.paper_names.get(name, name): name for name in results.datasets()}
    sizes = dataset_sizes()
    lines = []
    for printed, size in sizes.items():
        lines.append((printed, *map(_count, size), *_describe(results, ours.get(printed))))
    for printed, name in ours.items():
        if printed not in sizes:
            lines.append((printed, "–", "–", "–", *_describe(results, name)))
    ran = sum(printed in ours for printed in sizes)
    return Table(
        ("data set", "rows", "att.", "classes", "our rows", "our att.", "our classes", "methods"),
        lines,
        f"{ran} of the paper's {len(sizes)} data sets ran. The first three numbers are as printed, "
        "where most counts of attributes include the class; ours do not.",
    )


def _describe(results: Results, name: str | None) -> tuple[str, ...]:
    """Write what ran of a data set: its sizes, and how many methods finished a fold of it."""
    if name is None:
        return ("–",) * 4
    row = next(row for row in results.rows if row["dataset"] == name)
    finished = sum(bool(results.finished(name, method)) for method in results.methods)
    sizes = (row["n_rows"], row["n_attributes"], row["n_classes"])
    return (*map(_count, sizes), str(finished))


def _count(number: int) -> str:
    """Write a count with commas."""
    return f"{number:,}"
