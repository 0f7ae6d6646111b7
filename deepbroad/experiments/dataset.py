"""One data set of the paper: where it comes from, what it should be, and what it is."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

FOLDER_VARIABLE = "DEEPBROAD_DATA"
CLASS = "class"


class Shape(NamedTuple):
    """Rows, attributes (the class not counted) and classes of a table."""

    rows: int
    attributes: int
    classes: int

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.attributes} attributes and {self.classes} classes"


class MissingDataError(OSError):
    """A data set is not at hand; the message says why."""


class MismatchError(ValueError):
    """A data set is not the one that is expected; the message says what differs."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set by name, and how to get it.

    Its file is ``name.parquet`` in the data folder, the class being its column "class". Without
    a file it is made by `make`, if given, else fetched from OpenML.

    Parameters
    ----------
    name, paper_name : str
        What it is called here and in the paper.
    rows, attributes, classes : int
        As the paper prints them; its attributes mostly count the class.
    is_big : bool
        Whether the paper has it among the Big ones.
    shape : Shape or None
        What is expected to be loaded. None: it is nowhere to be had.
    checksum : str
        Of the expected content, see `checksum_of`; "" if any content of that shape will do.
    drop : tuple of str
        Columns that are no attributes: identifiers and weights.
    openml_id : int or None
        Number of the same table at OpenML.
    make : callable or None
        Returns attributes and classes without any file.
    base : str
        Name of the data set whose file it is made from, if not its own.
    derive : callable or None
        Makes its attributes of those of the file, and the classes.
    missing : str
        Why it is nowhere to be had.
    """

    name: str
    paper_name: str
    rows: int
    attributes: int
    classes: int
    is_big: bool = False
    shape: Shape | None = None
    checksum: str = ""
    drop: tuple[str, ...] = ()
    openml_id: int | None = None
    make: Callable[[], tuple[pa.Table, NDArray[Any]]] | None = None
    base: str = ""
    derive: Callable[[pa.Table, NDArray[Any]], pa.Table] | None = None
    missing: str = ""

    def load(
        self, folder: Path | str | None = None, *, checked: bool = True
    ) -> tuple[pa.Table, NDArray[Any]]:
        """Return attributes and classes from the folder, else generated, else from OpenML.

        Parameters
        ----------
        folder : path or None
            Folder of Parquet files; None is what the variable DEEPBROAD_DATA names, if anything.
        checked : bool, default=True
            Refuse content that is not the expected one with a `MismatchError`.
        """
        if self.shape is None:
            raise MissingDataError(self.missing)
        path = self._path(folder)
        if path is not None:
            X, y = self._split(pq.read_table(path))
        elif self.make is not None:
            X, y = self.make()
        else:
            X, y = self._split(self._fetch(folder))
        if self.derive is not None:
            X = self.derive(X, y)
        if checked:
            # The order and types of OpenML's tables are its own: only the shape can be expected.
            self._check(X, y, by_content=path is not None)
        return X, y

    def available(self, folder: Path | str | None = None) -> bool:
        """Return whether loading needs no network."""
        return not self.why_missing(folder)

    def why_missing(self, folder: Path | str | None = None) -> str:
        """Return why loading would need the network, or fail with it; "" if it would not."""
        if self.shape is None:
            return self.missing
        if self.make is not None or self._path(folder) is not None:
            return ""
        where = _folder(folder)
        if where is None:
            reason = f"no data folder was given (--data, or the variable {FOLDER_VARIABLE})"
        else:
            reason = f"{self._file} is not in the data folder"
        return reason + ("" if self.openml_id is None else "; OpenML has it")

    @property
    def _file(self) -> str:
        """The name of its file."""
        return f"{self.base or self.name}.parquet"

    def _path(self, folder: Path | str | None) -> Path | None:
        """Return the path of the file, if there is one."""
        where = _folder(folder)
        path = None if where is None else where / self._file
        return path if path is not None and path.exists() else None

    def _fetch(self, folder: Path | str | None) -> pa.Table:
        """Fetch the table from OpenML, which scikit-learn keeps for the next time."""
        if self.openml_id is None:
            raise MissingDataError(f"{self.why_missing(folder)}, and no number at OpenML is known.")
        # Only here: scikit-learn wants pandas for it, which is an extra.
        from sklearn.datasets import fetch_openml

        try:
            found = fetch_openml(data_id=self.openml_id, as_frame=True, parser="auto", n_retries=1)
        except (OSError, ImportError, ValueError) as error:
            raise MissingDataError(
                f"OpenML's data set {self.openml_id} could not be fetched: {error}"
            ) from error
        table = pa.Table.from_pandas(found.data, preserve_index=False)
        return table.append_column(CLASS, pa.array(found.target.astype(str)))

    def _split(self, table: pa.Table) -> tuple[pa.Table, NDArray[Any]]:
        """Take the class and what is no attribute off a table."""
        dropped = [name for name in self.drop if name in table.column_names]
        return table.drop_columns([CLASS, *dropped]), table[CLASS].to_numpy()

    def _check(self, X: pa.Table, y: NDArray[Any], *, by_content: bool) -> None:
        """Refuse what is not the expected table."""
        found = Shape(X.num_rows, X.num_columns, np.unique(y).size)
        if found != self.shape:
            raise MismatchError(f"{self.name} has {found}; expected are {self.shape}.")
        if by_content and self.checksum and (checksum := checksum_of(X, y)) != self.checksum:
            raise MismatchError(
                f"{self.name} has other content than the expected table (its checksum is "
                f"{checksum}, that of the expected one {self.checksum})."
            )


def checksum_of(X: pa.Table, y: NDArray[Any]) -> str:
    """Return a checksum of column names and values, whatever the encoding of the table.

    Numbers count as float64. Texts, and dictionaries of them, count as their distinct values in
    the order of appearance and the code of each row.
    """
    digest = hashlib.blake2b(digest_size=8)
    table = X.append_column(CLASS, pa.array(y))
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name}\n".encode())
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            digest.update(_numbers(column).tobytes())
        else:
            texts = pc.dictionary_encode(column.cast(pa.string())).combine_chunks()
            digest.update("\n".join(texts.dictionary.to_pylist()).encode())
            digest.update(texts.indices.fill_null(-1).to_numpy().astype("<i4").tobytes())
    return digest.hexdigest()


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers as little-endian float64, missing ones as the one usual NaN."""
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return np.where(np.isnan(numbers), np.nan, numbers).astype("<f8")


def _folder(given: Path | str | None) -> Path | None:
    """Return the data folder: the given one, else the environment's, else none."""
    if given is None:
        given = os.environ.get(FOLDER_VARIABLE) or None
    return None if given is None else Path(given)
