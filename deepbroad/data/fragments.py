"""Parquet files of a pyarrow data set, on any file system, in folders that name values."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from deepbroad.data.damage import naming
from deepbroad.data.file_formats import DatasetTable, ParquetTable, TableFile


def open_dataset(dataset: ds.Dataset) -> list[TableFile]:
    """Return the files of a data set, or as a whole one whose rows are filtered.

    A scanner of pyarrow decodes whole row groups, which may have a million rows; files by
    themselves take a third of its memory.
    """
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # rows are filtered: only a scanner knows how
        return [DatasetTable(dataset)]
    if not fragments or not all(isinstance(one, ds.ParquetFileFragment) for one in fragments):
        return list(DatasetTable(dataset).split(0))
    return [_open_fragment(fragment, dataset.schema) for fragment in fragments]


def _open_fragment(fragment: ds.ParquetFileFragment, schema: pa.Schema) -> "FragmentTable":
    with naming(fragment.path):
        return FragmentTable(fragment, schema)


class FragmentTable(ParquetTable):
    """A Parquet file of a data set.

    Parameters
    ----------
    fragment : pyarrow ParquetFileFragment
    schema : pyarrow Schema
        Of the data set: what the file lacks is in the name of its folder, or missing.
    """

    def __init__(self, fragment: ds.ParquetFileFragment, schema: pa.Schema) -> None:
        self._place = fragment.filesystem, fragment.path
        self._whole = schema
        self._values = ds.get_partition_keys(fragment.partition_expression)
        is_local = isinstance(fragment.filesystem, LocalFileSystem)
        super().__init__(Path(fragment.path) if is_local else None)
        chosen = {group.id for group in fragment.row_groups}
        self._counts = {group: n for group, n in self._counts.items() if group in chosen}
        self.n_rows = sum(self._counts.values())

    @property
    def names(self) -> list[str]:
        """All columns of the data set."""
        return list(self._whole.names)

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        own = [name for name in columns if self._is_own(name)]
        # Of a file whose own columns nobody wants, one still tells the number of rows.
        for batch in super()._batches(own or self._schema.names[:1], rows):
            yield pa.table(
                {
                    name: batch[name] if self._is_own(name) else self._repeat(name, len(batch))
                    for name in columns
                }
            )

    def _is_own(self, name: str) -> bool:
        return name in self._schema.names and name not in self._values

    def _repeat(self, name: str, rows: int) -> pa.Array:
        """Return what the folder says of a column, for some rows."""
        kind = self._whole.field(name).type
        return pa.repeat(pa.scalar(self._values.get(name), kind), rows)

    def _source(self) -> Any:
        filesystem, path = self._place
        return filesystem.open_input_file(path)
