"""Single files of tables, each read in batches of bounded size: Parquet, Arrow, data sets of them.

CSV has a module of its own. Nothing here knows what columns mean.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from deepbroad.data.damage import check_batch, naming

# Parquet's column chunks are read through buffers of this size, one for each column, instead of
# whole: a row group often has a million rows.
_BUFFER = 2**16
# Rows of a column at a time, to count them.
_COUNTED_ROWS = 2**16


class TableFile(ABC):
    """One file of a table.

    Parameters
    ----------
    path : Path or None
        None for what is no single file.

    Attributes
    ----------
    n_rows : int or None
        None where only reading tells.
    decimal_point : str
        What numbers have in texts.
    """

    n_rows: int | None = None
    decimal_point = "."

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stamp = self._take_stamp()

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """All columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns, at most `rows` rows at a time, always in the same order."""

    def count_rows(self) -> int:
        """Return how many rows there are; a file that does not say so is gone through."""
        if self.n_rows is not None:
            return self.n_rows
        return sum(batch.num_rows for batch in self.batches(self.names[:1], _COUNTED_ROWS))

    def split(self, rows: int) -> "Sequence[TableFile]":
        """Return parts that can be read apart, of about `rows` rows where the format allows."""
        return [self]

    def check_unchanged(self) -> None:
        """Raise an error if the file is not what it was when it was opened."""
        if self._take_stamp() != self._stamp:
            raise changed(self)

    def _take_stamp(self) -> tuple[int, int] | None:
        if self.path is None:
            return None
        facts = self.path.stat()
        return facts.st_size, facts.st_mtime_ns

    def __str__(self) -> str:
        return "the data set" if self.path is None else str(self.path)


class BinaryTable(TableFile):
    """A file whose bytes Arrow takes as they are: they are checked before anything uses them."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns; ValueError that names the file if it is damaged."""
        batches = self._batches(columns, rows)
        while True:
            with naming(self):
                batch = next(batches, None)
                if batch is None:
                    return
                check_batch(batch)
            yield batch

    @abstractmethod
    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns as they are in the file."""


class ParquetTable(BinaryTable):
    """A Parquet file; text comes as dictionaries, which the file mostly has already."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        with self._open() as file:
            counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            self._schema = file.schema_arrow
        self._counts = dict(enumerate(counts))  # the rows of each row group
        self.n_rows = sum(counts)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._schema.names)

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        text = [
            field.name
            for field in self._schema
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        with self._open(read_dictionary=text) as file:
            for batch in file.iter_batches(
                rows, list(self._counts), columns=list(columns), use_threads=False
            ):
                yield pa.Table.from_batches([batch]).select(columns)

    def split(self, rows: int) -> "Sequence[ParquetTable]":
        """Return some row groups each, none of no rows."""
        parts: list[ParquetTable] = []
        filled = rows
        for group, count in self._counts.items():
            if not count:
                continue
            filled += count
            if filled > rows:
                parts.append(copy(self))
                parts[-1]._counts = {}
                filled = count
            parts[-1]._counts[group] = count
            parts[-1].n_rows = filled
        return parts

    def _open(self, **options: Any) -> pq.ParquetFile:
        return pq.ParquetFile(self._source(), pre_buffer=False, buffer_size=_BUFFER, **options)

    def _source(self) -> Any:
        return self.path


class ArrowTable(BinaryTable):
    """A file in Arrow's own format, which Feather is too."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with pa.OSFile(str(path)) as file:
            self._schema = self._open(file).schema

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._schema.names)

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        places = [self._schema.names.index(name) for name in columns]
        with pa.OSFile(str(self.path)) as file:
            reader = self._open(file, included_fields=sorted(places))
            for batch in self._read(reader):
                yield from slices(pa.Table.from_batches([batch]).select(columns), rows)

    @staticmethod
    def _open(file: Any, **options: Any) -> Any:
        """Open a file of Arrow's: one with an index of its batches, or a stream."""
        options = {"options": pa.ipc.IpcReadOptions(use_threads=False, **options)}
        try:
            return pa.ipc.open_file(file, **options)
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file, **options)

    @staticmethod
    def _read(reader: Any) -> Iterator[pa.RecordBatch]:
        if isinstance(reader, pa.RecordBatchFileReader):
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i)
        else:
            yield from reader


class DatasetTable(BinaryTable):
    """A data set of pyarrow's: any file system, filters, folders whose names are values."""

    def __init__(self, dataset: ds.Dataset) -> None:
        super().__init__(None)
        self._dataset = dataset

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._dataset.schema.names)

    def split(self, rows: int) -> "Sequence[DatasetTable]":
        """Return a data set for each fragment, most often a file."""
        whole = self._dataset
        if not isinstance(whole, ds.FileSystemDataset):
            return [self]
        return [
            DatasetTable(ds.FileSystemDataset([one], whole.schema, whole.format, whole.filesystem))
            for one in whole.get_fragments()
        ]

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        scanner = self._dataset.scanner(
            columns=list(columns),
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        )
        for batch in scanner.to_batches():
            yield from slices(pa.Table.from_batches([batch]), rows)

    def __str__(self) -> str:
        files = getattr(self._dataset, "files", [])
        return str(files[0]) if len(files) == 1 else "the data set"


def slices(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    """Cut a table into parts of at most `rows` rows; none of them is empty."""
    for begin in range(0, table.num_rows, rows):
        yield table.slice(begin, rows)


def changed(file: TableFile) -> RuntimeError:
    """Return the error of a file that is not what it was."""
    return RuntimeError(
        f"{file} changed while it was being read. Fit again once nothing writes to it any more"
    )
