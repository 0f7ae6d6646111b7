"""Every table and figure of the report by its name on the command line, in the report's order."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from deepbroad.experiments.figures.bars import draw_loss_bars, draw_time_bars
from deepbroad.experiments.figures.convergence import draw_convergence, draw_depths
from deepbroad.experiments.figures.learning_curves import draw_learning_curves
from deepbroad.experiments.figures.rank_diagram import draw_ranks
from deepbroad.experiments.figures.scatter import draw_scatter
from deepbroad.experiments.material import Material
from deepbroad.experiments.tables.appendix import tabulate_appendix
from deepbroad.experiments.tables.averages import tabulate_averages
from deepbroad.experiments.tables.claims import tabulate_claims
from deepbroad.experiments.tables.data_sets import tabulate_datasets
from deepbroad.experiments.tables.details import tabulate_details
from deepbroad.experiments.tables.not_run import tabulate_not_run
from deepbroad.experiments.tables.ranks import tabulate_ranks
from deepbroad.experiments.tables.slips import tabulate_slips
from deepbroad.experiments.tables.table import Table
from deepbroad.experiments.tables.win_draw_loss import tabulate_wins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GENERATIVE = ("A1JE", "A2JE", "A3JE", "A1DE", "A2DE")
_DBL = ("DBL1", "DBL2", "DBL3")
_LR = ("LR1", "LR2", "LR3")
_MAIN = (*_GENERATIVE, *_DBL, *_LR, "RF")
_CLAIMED = (*_MAIN, "ELR", "DBL2-generative")
_LISTED = (*_CLAIMED, "RF-raw")
_FAMILIES = {
    "anje": ("AnJE", ("DBL2", "A2JE", "DBL3", "A3JE")),
    "ande": ("AnDE", ("DBL2", "A1DE", "DBL3", "A2DE")),
    "rf": ("random forest", ("DBL2", "DBL3", "RF")),
}
_PAIRS = {
    "anje": (("DBL2", "A2JE"), ("DBL3", "A3JE")),
    "ande": (("DBL2", "A1DE"), ("DBL3", "A2DE")),
    "rf": (("DBL2", "RF"), ("DBL3", "RF")),
}
_LOSSES = {"error": "0-1 loss", "rmse": "RMSE", "log_loss": "Log loss"}
_BESIDE = dict.fromkeys(("error", "rmse"), ", beside the paper's")
_SCATTERED = {
    "error": "0-1 loss",
    "rmse": "RMSE",
    "iterations": "iterations",
    "train_seconds": "training time",
}


class Entry(NamedTuple):
    """A table or a figure: its title, what it shows, the methods it needs, and how it is made.

    Tables that are too long for the summary have `brief` False and are in the HTML page only.
    """

    kind: str
    title: str
    caption: str
    methods: tuple[str, ...]
    make: Callable[[Material], Any]
    brief: bool = True


def methods_for(names: Sequence[str] | None = None) -> list[str]:
    """Name the methods whose rows these tables and figures need, all of them by default.

    >>> methods_for(["wdl-anje"])
    ['A2JE', 'A3JE', 'DBL2', 'DBL3']
    """
    needed = {method for name in check_names(names) for method in CATALOGUE[name].methods}
    return [method for method in _LISTED if method in needed]


def check_names(names: Sequence[str] | None) -> list[str]:
    """Put names in the report's order, all of them by default, and refuse those unknown."""
    unknown = [name for name in names or [] if name not in CATALOGUE]
    if unknown:
        raise ValueError(
            f"There is no table or figure {', '.join(unknown)}; there are {', '.join(CATALOGUE)}."
        )
    return [name for name in CATALOGUE if not names or name in names]


def _table(title: str, methods: Sequence[str], make: Callable[[Material], Table]) -> Entry:
    """Make the entry of a table, which explains itself."""
    return Entry("table", title, "", tuple(methods), make)


def _figure(
    title: str, caption: str, methods: Sequence[str], make: Callable[[Material], "Figure"]
) -> Entry:
    """Make the entry of a figure."""
    return Entry("figure", title, caption, tuple(methods), make)


def _compare_families() -> dict[str, Entry]:
    """List the tables and figures of DBL against each other family."""
    entries = {}
    for key, (name, methods) in _FAMILIES.items():
        entries[f"wdl-{key}"] = _table(
            f"DBL against {name}: win-draw-loss",
            methods,
            partial(lambda m, pairs: tabulate_wins(m.results, pairs), pairs=_PAIRS[key]),
        )
        entries[f"losses-{key}"] = _figure(
            f"DBL against {name}: average losses",
            "Geometric mean of each method's loss over that of DBL², 1/(2N) added to both.",
            methods,
            partial(lambda m, methods: draw_loss_bars(m.results, methods), methods=methods),
        )
        entries[f"times-{key}"] = _figure(
            f"DBL against {name}: average times",
            "Geometric mean of each method's time over that of DBL². For times, the paper's Big "
            "are nine data sets of 10,992 to 164,860 rows; the larger ones are added.",
            methods,
            partial(lambda m, methods: draw_time_bars(m.results, methods), methods=methods),
        )
    return entries


def _compare_parameters() -> dict[str, Entry]:
    """List the figures of DBL against LR."""
    entries = {
        f"scatter-{measure.replace('_', '-')}": _figure(
            f"DBL against LR: {label}",
            "One point for each data set; below the line, DBL has the lower value.",
            (*_DBL[1:], *_LR[1:]),
            partial(lambda m, measure: draw_scatter(m.results, measure), measure=measure),
        )
        for measure, label in _SCATTERED.items()
    }
    for n in (2, 3):
        entries[f"convergence-{n}"] = _figure(
            f"Convergence of DBL{'²³'[n - 2]} and LR{'²³'[n - 2]}",
            "The objective on the training half of the first fold, on the largest data sets that "
            "both finished. Iterations are on a logarithmic axis.",
            (f"DBL{n}", f"LR{n}"),
            partial(lambda m, n: draw_convergence(m.results, n), n=n),
        )
    entries["convergence-n"] = _figure(
        "Convergence as n grows",
        "As above, for n = 1, 2, 3. The paper's sample is Localization, or else what comes next in "
        "its list of larger data sets.",
        (*_DBL, *_LR),
        lambda m: draw_depths(m.results),
    )
    return entries


def _list_numbers() -> dict[str, Entry]:
    """List the tables of single numbers."""
    entries = {
        f"appendix-{measure.replace('_', '-')}": _table(
            f"{label} on the Big data sets" + _BESIDE.get(measure, ""),
            (*_GENERATIVE, *_DBL, "RF", "RF-raw"),
            partial(
                lambda m, measure: tabulate_appendix(m.results, m.reconstructed, measure),
                measure=measure,
            ),
        )
        for measure, label in _LOSSES.items()
    }
    for measure, label in _LOSSES.items():
        entries[f"ranks-{measure.replace('_', '-')}"] = _table(
            f"Average ranks: {label}",
            _MAIN,
            partial(lambda m, measure: tabulate_ranks(m.results, measure, _MAIN), measure=measure),
        )
    entries["ranks"] = _figure(
        "Average ranks, drawn",
        "Rank 1 is best. Lines join methods that Nemenyi's test cannot tell apart at 0.05.",
        _MAIN,
        lambda m: draw_ranks(m.results, list(_LOSSES), _MAIN),
    )
    listed = {**_LOSSES, "bias": "Bias", "variance": "Variance"}
    for measure, label in listed.items():
        make = partial(
            lambda m, measure: tabulate_details(m.results, measure, _LISTED), measure=measure
        )
        entry = _table(f"{label} on every data set", _LISTED, make)
        entries[f"all-{measure.replace('_', '-')}"] = entry._replace(brief=False)
    return entries


CATALOGUE: dict[str, Entry] = {
    "claims": _table(
        "The paper's claims",
        _CLAIMED,
        lambda m: tabulate_claims(m.results, m.points),
    ),
    "datasets": _table("Data sets", (), lambda m: tabulate_datasets(m.results))._replace(
        brief=False
    ),
    "learning-curves": _figure(
        "Learning curves on poker hands",
        "Means over samples, with their range; small samples are drawn five times.",
        (),
        lambda m: draw_learning_curves(m.points),
    ),
    **_compare_families(),
    **_compare_parameters(),
    "averages": _table(
        "Averages behind the bar charts",
        (*_GENERATIVE[1:], "DBL2", "DBL3", "RF"),
        lambda m: tabulate_averages(m.results, [methods for _, methods in _FAMILIES.values()]),
    )._replace(brief=False),
    **_list_numbers(),
    "slips": _table("Slips in the paper's numbers", (), lambda _: tabulate_slips()),
    "not-run": _table(
        "What could not be run", (), lambda m: tabulate_not_run(m.results, m.missing)
    ),
}
