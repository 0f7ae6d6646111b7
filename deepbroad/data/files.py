"""Tables in files, larger than memory perhaps: batches of rows, as often as one wants."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from deepbroad.data.arff_file import ArffTable
from deepbroad.data.chosen_files import ChosenFiles, NumericFile
from deepbroad.data.csv_file import CsvTable, infer_types
from deepbroad.data.damage import naming
from deepbroad.data.file_formats import (
    ArrowTable,
    ParquetTable,
    TableFile,
    changed,
)
from deepbroad.data.fragments import open_dataset
from deepbroad.data.names import list_names, suggest
from deepbroad.data.table import Table, read_arrow
from deepbroad.data.weights import read_weights

BATCH_ROWS = 65536
# What a batch may take as float64; wide tables have fewer rows in one.
_BATCH_BYTES = 2**26
_FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".arff": "ARFF",
}
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4"}


class FileBatch(NamedTuple):
    """Some consecutive rows.

    Parameters
    ----------
    table : Table
        The attributes.
    y : pyarrow ChunkedArray, or None
    weights : float64 array of shape (n_rows,), or None
    """

    table: Table
    y: pa.ChunkedArray | None
    weights: np.ndarray | None


class TableFiles:
    """A table in one file or several of the same format and columns.

    Parameters
    ----------
    files : sequence of TableFile
        In the order of their rows.
    names : sequence of str
        The attributes.
    y, weights : str, optional
        The columns that hold labels and weights.
    """

    def __init__(
        self,
        files: Sequence[TableFile],
        names: Sequence[str],
        y: str | None = None,
        weights: str | None = None,
    ) -> None:
        self.files = list(files)
        self.names = tuple(names)
        self.y, self.weights = y, weights
        self._counts: list[int | None] = [file.n_rows for file in files]

    @property
    def n_rows(self) -> int:
        """How many rows there are; files that do not say so are gone through once."""
        for i, file in enumerate(self.files):
            if self._counts[i] is None:
                file.check_unchanged()
                self._counts[i] = file.count_rows()
        return sum(count for count in self._counts if count is not None)

    def batches(self, rows: int | None = None) -> Iterator[FileBatch]:
        """Go through all rows in order, at most `rows` at a time.

        They are the same rows every time: RuntimeError if a file has changed.
        """
        if rows is None:
            rows = min(BATCH_ROWS, max(_BATCH_BYTES // (8 * len(self.names)), 1024))
        columns = [*self.names, *(name for name in (self.y, self.weights) if name is not None)]
        seen = False
        for i in range(len(self.files)):
            for batch in self._read(i, columns, rows):
                seen = True
                yield self._split(self.files[i], batch)
        if not seen:
            raise ValueError(f"{self.files[0]} holds no rows; give files that do")
        # Arrow's allocator keeps what it freed, which would count as memory of this process.
        pa.default_memory_pool().release_unused()

    def read(self) -> tuple[pa.Table, pa.ChunkedArray | None]:
        """Return the attributes of all rows, and their labels, in memory."""
        columns = [*self.names, *(name for name in (self.y,) if name is not None)]
        parts = [
            part for i in range(len(self.files)) for part in self._read(i, columns, BATCH_ROWS)
        ]
        if not parts:
            raise ValueError(f"{self.files[0]} holds no rows; give files that do")
        whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
        return whole.select(list(self.names)), None if self.y is None else whole[self.y]

    def _read(self, i: int, columns: list[str], rows: int) -> Iterator[pa.Table]:
        """Read a file, and see that it has as many rows as ever."""
        file, count = self.files[i], 0
        file.check_unchanged()
        for batch in file.batches(columns, rows):
            if batch.num_rows:
                count += batch.num_rows
                yield batch
        file.check_unchanged()
        if self._counts[i] not in (None, count):
            raise changed(file)
        self._counts[i] = count

    def _split(self, file: TableFile, batch: pa.Table) -> FileBatch:
        weights = None
        if self.weights is not None:
            try:
                weights = read_weights(batch[self.weights].to_numpy(), len(batch), is_part=True)
            except ValueError as error:
                raise ValueError(
                    f"{file}: column {self.weights!r} holds weights, which are numbers of 0 or "
                    f"more: {error}"
                ) from error
        y = None if self.y is None else batch[self.y]
        return FileBatch(read_arrow(batch.select(list(self.names)), is_checked=True), y, weights)

    def __str__(self) -> str:
        more = len(self.files) - 1
        return f"{self.files[0]}" + (f" and {more:,} more files" if more else "")

    def __repr__(self) -> str:
        return f"TableFiles({len(self.files)} files, {len(self.names)} attributes)"


def check_named(y: Any, sample_weight: Any) -> None:
    """Raise TypeError unless labels and weights of rows in files are named, as columns of these."""
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if not isinstance(given, str) and (name == "y" or given is not None):
            raise TypeError(
                f"With X in files, {name} is the name of one of their columns; got "
                f"{type(given).__name__}."
            )


def is_files(X: Any) -> bool:
    """Tell whether a table is given by its files."""
    if isinstance(X, str | os.PathLike | ds.Dataset | ChosenFiles):
        return True
    return isinstance(X, list | tuple) and bool(X) and all(map(_is_path, X))


def _is_path(item: Any) -> bool:
    # A list of words may be a table that was given wrongly; a path says what format it has.
    if isinstance(item, str):
        return _format_of(Path(item)) is not None
    return isinstance(item, os.PathLike)


def open_files(
    X: Any,
    *,
    y: str | None = None,
    weights: str | None = None,
    columns: Sequence[str] | None = None,
    text: Sequence[str] = (),
    categories: Sequence[str] = (),
    numbers: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> TableFiles:
    """Return a table in files; only their headers are read.

    Parameters
    ----------
    X : str, path, list of paths, pyarrow Dataset, or ChosenFiles
        A file in Parquet, CSV, ARFF or Arrow's format, several of them, or a folder. Files of a
        folder are taken in the order of their names; those that begin with "." or "_" are left out.
        Folders named like "year=2020" are columns.
    y, weights : str, optional
        Columns that are no attributes: labels and weights.
    columns : sequence of str, optional
        The attributes; by default all other columns.
    text : sequence of str
        Columns that are text, whatever a CSV file looks like.
    categories : sequence of str
        Columns that are text where reading them as numbers would make two of their values one, or
        not all values are of one type; CSV files are gone through to find out.
    numbers : sequence of str
        Columns that are numbers if any of their texts is one.
    whole : sequence of str
        Columns that are categories of whole numbers if any of their texts is one.

    Returns
    -------
    TableFiles
    """
    chosen = X if isinstance(X, ChosenFiles) else ChosenFiles(X)
    labels = [] if y is None else [y]
    if y is not None and y == weights:
        raise ValueError(f"column {y!r} cannot hold both the classes and the weights of rows")
    text = [*text, *chosen.numeric, *whole]  # so that CSV holds what is no number
    unpadded = [*numbers, *(name for name in (weights,) if name is not None)]
    files = _open_all(
        chosen.files, lambda paths: infer_types(paths, text, labels, categories, unpadded)
    )
    if chosen.numeric or numbers or whole:
        files = [NumericFile(file, chosen.numeric, numbers, whole) for file in files]
    known = files[0].names
    for file in files[1:]:
        if sorted(file.names) != sorted(known):
            differing = sorted(set(file.names) ^ set(known))
            raise ValueError(
                f"{files[0]} and {file} have different columns ({list_names(differing)}). Give "
                "files that have the same"
            )
    if len(set(known)) < len(known):
        raise ValueError(f"column names must differ: {files[0]} has {list_names(known)}")
    _check_known(files[0], (y, weights, *(columns or ()), *chosen.drop, *chosen.numeric))
    names = columns or [name for name in known if name not in (y, weights, *chosen.drop)]
    if not names:
        raise ValueError(
            f"{files[0]} has no columns beside {list_names(known)}; a model needs attributes"
        )
    return TableFiles(files, names, y, weights)


def _check_known(file: TableFile, names: Sequence[str | None]) -> None:
    """Raise ValueError for a name that is no column of a file."""
    known = file.names
    single = " Are commas between its values?" if len(known) == 1 else ""
    for name in names:
        if name is not None and name not in known:
            raise ValueError(f"{file} has no column {name!r}. {suggest(name, known)}{single}")


def _open_all(
    X: Any, find_types: Callable[[list[Path]], dict[str, pa.DataType]]
) -> list[TableFile]:
    """Open the files that `X` names; only CSV's types must be found."""
    if isinstance(X, ds.Dataset):
        return open_dataset(X)
    given = list(X) if isinstance(X, list | tuple) else [X]
    if not all(isinstance(item, str | os.PathLike) for item in given):
        raise TypeError(f"files are given by their paths, got {list_names(given, 5)}")
    if len(given) == 1 and Path(given[0]).is_dir():
        hive = _hive_folder(Path(given[0]))
        if hive is not None:
            return open_dataset(hive)
    paths = [path for item in given for path in _find_paths(Path(item))]
    formats = {_format_of(path) for path in paths}
    if len(formats) > 1:
        shown = list_names(map(str, paths), 5)
        raise ValueError(f"files of different formats cannot be one table: {shown}. Convert some")
    match formats.pop():
        case "Parquet":
            return [_open_one(ParquetTable, path) for path in paths]
        case "Arrow":
            return [_open_one(ArrowTable, path) for path in paths]
        case "ARFF":
            return [ArffTable(path) for path in paths]
        case _:
            types = find_types(paths)
            return [CsvTable(path, types) for path in paths]


def _open_one(kind: Any, path: Path) -> TableFile:
    with naming(path):
        file: TableFile = kind(path)
        _ = file.names  # which may be no text
    return file


def _find_paths(path: Path) -> list[Path]:
    """Return the files of a folder, in the order of their names, or the file itself."""
    if not path.exists():
        hint = ". For other file systems give a pyarrow.dataset" if ":/" in str(path) else ""
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}{hint}")
    found = [path] if path.is_file() else _visible_files(path)
    if not found:
        *others, last = dict.fromkeys(_FORMATS.values())
        raise ValueError(
            f"folder {str(path)!r} holds no files; give one with {', '.join(others)} or {last} "
            "files in it"
        )
    for file in found:
        if _format_of(file) is None:
            raise ValueError(
                f"the format of {str(file)!r} is unknown; files end in {', '.join(_FORMATS)}"
            )
    return found


def _visible_files(folder: Path) -> list[Path]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(
        file
        for file in files
        if not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    )


def _format_of(path: Path) -> str | None:
    """Return the format that a name ends in, None if it is unknown."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        found = _FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return found if found == "CSV" else None
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _hive_folder(folder: Path) -> ds.Dataset | None:
    """Return a folder whose subfolders name values as a data set, None if it is no such folder."""
    files = _visible_files(folder)
    if not any("=" in part for file in files for part in file.relative_to(folder).parts[:-1]):
        return None
    formats = {_format_of(file) for file in files}
    if formats not in ({"Parquet"}, {"CSV"}, {"Arrow"}):
        raise ValueError(f"the files of {str(folder)!r} are not all of one known format")
    return ds.dataset(
        [str(file) for file in files],
        format=formats.pop().lower(),  # type: ignore[union-attr]
        partitioning=ds.partitioning(flavor="hive"),
        partition_base_dir=str(folder),
    )
