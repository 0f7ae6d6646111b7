"""Geometric means over those of DBL²: the numbers behind the bar charts."""

from collections.abc import Sequence

from deepbroad.experiments.labels import group_label, measure_label, method_label
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.table import Table

LOSSES = ("error", "rmse", "log_loss")
TIMES = ("train_seconds", "predict_seconds")
LOSS_GROUPS = ("little", "big")
TIME_GROUPS = ("little-times", "big-times", "largest")


def tabulate_averages(results: Results, families: Sequence[Sequence[str]]) -> Table:
    """List each family's averages; the data sets are those that the whole family finished."""
    lines: list[tuple[str, ...]] = []
    for measures, groups in ((LOSSES, LOSS_GROUPS), (TIMES, TIME_GROUPS)):
        for family in families:
            for measure in measures:
                for group in groups:
                    lines += _average(results, measure, family, group)
    return Table(
        ("measure", "data sets", "number", "method", "average over DBL²'s"),
        lines,
        "Geometric means of each method's value over that of DBL², 1/(2N) being added to losses. "
        "For times, the paper's Big are nine other data sets; those over 100,000 rows are added.",
    )


def _average(
    results: Results, measure: str, family: Sequence[str], group: str
) -> list[tuple[str, ...]]:
    """Write one line for each method of a family."""
    averages, number = results.average(measure, family, group)
    return [
        (
            measure_label(measure),
            group_label(group),
            str(number),
            method_label(name),
            f"{ratio:.3f}",
        )
        for name, ratio in averages.items()
        if name != "DBL2"
    ]
