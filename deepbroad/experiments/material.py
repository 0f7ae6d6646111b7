"""All that the report is made of: rows, points of the learning curves, and what is missing."""

from pathlib import Path
from typing import NamedTuple

from deepbroad.experiments.datasets import DATASETS, RECONSTRUCTED
from deepbroad.experiments.learning_curves import Point, read_learning_curves
from deepbroad.experiments.results import Results
from deepbroad.experiments.rows import read_rows


class Material(NamedTuple):
    """What tables and figures are made from.

    results : those of the paper's data sets
    reconstructed : those of data sets made again from another's file, for the appendix alone
    points : of the learning curves
    missing : why data sets did not run at all, by name
    """

    results: Results
    reconstructed: Results
    points: list[Point]
    missing: dict[str, str]


def read_material(rows_folder: Path, out: Path, data: Path | None = None) -> Material:
    """Read rows and points, and say why data sets are missing.

    Parameters
    ----------
    rows_folder : Path
        Folder of rows.
    out : Path
        Folder that has the learning curves, if they were run.
    data : Path, optional
        Folder of the data sets, to say which of those that did not run it lacks.
    """
    known = DATASETS | RECONSTRUCTED
    names = {name: dataset.paper_name for name, dataset in known.items()}
    rows = read_rows(rows_folder)
    results, reconstructed = (
        Results(
            (row for row in rows if (row["dataset"] in RECONSTRUCTED) is is_so), paper_names=names
        )
        for is_so in (False, True)
    )
    missing = {
        name: dataset.why_missing(data) or "not asked for"
        for name, dataset in DATASETS.items()
        if name not in results.datasets()
    }
    return Material(results, reconstructed, read_learning_curves(out), missing)
