"""Rows of results: one Parquet file for each trial, written at once or not at all.

A row's file is named by data set, method, round, fold and key, so that what is there shows without
opening a file, and a row with another key takes the place of the old one.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deepbroad.experiments.machine import describe_machine, describe_versions
from deepbroad.experiments.trial import Trial

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("dataset", "method")),
        *((name, pa.int64()) for name in ("round", "fold", "seed")),
        ("stratified", pa.bool_()),
        *((name, pa.string()) for name in ("status", "message")),
        *((name, pa.float64()) for name in ("error", "rmse", "log_loss")),
        *((name, pa.float64()) for name in ("train_seconds", "predict_seconds")),
        *((name, pa.int64()) for name in ("iterations", "passes")),
        ("loss_curve", pa.list_(pa.float64())),
        *((name, pa.int64()) for name in ("n_rows", "n_train", "n_test")),
        *((name, pa.int64()) for name in ("n_attributes", "n_classes")),
        *((name, pa.list_(pa.int16())) for name in ("predicted", "actual")),
        ("test_bits", pa.binary()),
        ("limit_seconds", pa.float64()),
        *((name, pa.string()) for name in ("parameters", "key", "machine", "versions", "when")),
    ]
)
_ARRAYS = ("loss_curve", "predicted", "actual")


def make_row(trial: Trial, status: str, columns: dict[str, Any], limit: float) -> dict[str, Any]:
    """Return the row of a trial; what it has no value for is None.

    Parameters
    ----------
    trial : Trial
        What was tried.
    status : {"done", "timeout", "memory", "error"}
        How it ended.
    columns : dict
        What the evaluation found, or only a "message".
    limit : float
        The time limit in force, in seconds.
    """
    shape = trial.subject.shape
    return dict.fromkeys(SCHEMA.names) | {
        "dataset": trial.subject.dataset.name,
        "method": trial.method.name,
        "round": trial.round,
        "fold": trial.fold,
        "seed": trial.protocol.seed,
        "stratified": trial.protocol.stratified,
        "status": status,
        "n_rows": shape.rows,
        "n_attributes": shape.attributes,
        "n_classes": shape.classes,
        "limit_seconds": limit,
        "parameters": trial.method.parameters,
        "key": trial.key,
        "machine": describe_machine(),
        "versions": describe_versions(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **columns,
    }


def write_row(folder: Path, trial: Trial, row: dict[str, Any]) -> None:
    """Write the row of a trial; a reader sees all of it or nothing."""
    path = _path(folder, trial)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(pa.Table.from_pylist([row], SCHEMA), unfinished, compression="zstd")
    os.replace(unfinished, path)
    for old in path.parent.glob(f"{_stem(trial)}.*.parquet"):
        if old != path:
            old.unlink()


def read_row(folder: Path, trial: Trial) -> dict[str, Any] | None:
    """Return the row of a trial, None if there is none with its key."""
    path = _path(folder, trial)
    return _read(path) if path.exists() else None


def read_rows(folder: Path | str) -> list[dict[str, Any]]:
    """Return all rows of a folder, in the order of their files' names.

    Arrays (`predicted`, `actual`, `loss_curve`) are NumPy's; what a row lacks is None.
    """
    return [_read(path) for path in sorted(Path(folder).glob("*/*.parquet"))]


def test_rows(row: dict[str, Any]) -> NDArray[np.int64]:
    """Return the positions, in the data set, of the rows that a row's trial was tested on."""
    bits = np.frombuffer(row["test_bits"], dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(bits, count=row["n_rows"]))


# Or pytest takes it for a test where it is imported.
test_rows.__test__ = False  # type: ignore[attr-defined]


def _read(path: Path) -> dict[str, Any]:
    """Read the row of a file."""
    # By the file itself: read_table would look at the folder for partitions.
    table = pq.ParquetFile(path).read()
    return dict(_values(table))


def _values(table: pa.Table) -> Iterator[tuple[str, Any]]:
    """Go through the values of the one row, long lists as arrays."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in _ARRAYS and column[0].is_valid:
            yield name, column[0].values.to_numpy(zero_copy_only=False)
        else:
            yield name, None if name in _ARRAYS else column[0].as_py()


def _stem(trial: Trial) -> str:
    """Return what the names of a trial's files begin with."""
    return f"{trial.method.name}.{trial.round}.{trial.fold}"


def _path(folder: Path, trial: Trial) -> Path:
    """Return the path of a trial's row."""
    return folder / trial.subject.dataset.name / f"{_stem(trial)}.{trial.key}.parquet"
