"""`deepbroad predict`: classes and probabilities for the rows of a table in files."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import typer

import deepbroad
from deepbroad.cli.failure import Debug, Quiet, plainly
from deepbroad.cli.output import check_output, write_output
from deepbroad.cli.screen import Screen
from deepbroad.cli.table import TableArgument

WRITERS = {".csv": "CSV", ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow"}


@plainly
def predict(
    model: Annotated[Path, typer.Argument(help="Model file that `deepbroad fit` wrote.")],
    table: TableArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV, Parquet or Arrow file; CSV to the screen if none."),
    ] = None,
    proba: Annotated[bool, typer.Option(help="Write the probability of each class too.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the class of each row of a table."""
    if out is not None and out.suffix.lower() not in WRITERS:
        raise ValueError(
            f"The ending of {out.name} tells no format; use one of {', '.join(WRITERS)}."
        )
    check_output(out, model, table)
    classifier = deepbroad.load(model)
    batches = predict_batches(classifier, table, proba=proba)
    if out is None:
        write_batches(batches, sys.stdout.buffer, "CSV")
        return
    n_rows = 0

    def write(file: BinaryIO) -> None:
        nonlocal n_rows
        n_rows = write_batches(batches, file, WRITERS[out.suffix.lower()])

    write_output(out, write)
    if not quiet:
        Screen(stderr=True).print(f"{n_rows:,} predictions in {out}", highlight=False, markup=False)


def predict_batches(classifier: Any, table: Path, *, proba: bool) -> Iterator[pa.Table]:
    """Yield predictions batch by batch, as tables."""
    classes = classifier.classes_
    for probabilities in classifier.iter_proba(table):
        columns = {"prediction": pa.array(classes[probabilities.argmax(axis=1)])}
        if proba:
            for c, label in enumerate(classes.tolist()):
                columns[f"P({label})"] = pa.array(np.ascontiguousarray(probabilities[:, c]))
        yield pa.table(columns)


def write_batches(batches: Iterator[pa.Table], sink: BinaryIO, file_format: str) -> int:
    """Write tables to an open file in one of the formats; return how many rows they had."""
    first = next(batches)
    writer: Any
    if file_format == "Parquet":
        writer = pq.ParquetWriter(sink, first.schema)
    elif file_format == "Arrow":
        writer = pa.ipc.new_file(sink, first.schema)
    else:
        writer = pa_csv.CSVWriter(sink, first.schema)
    n_rows = 0
    with writer:
        writer.write_table(first)
        n_rows += first.num_rows
        for batch in batches:
            writer.write_table(batch)
            n_rows += batch.num_rows
    return n_rows
