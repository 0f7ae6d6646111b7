"""Files of which only some columns are wanted, or some as numbers though they hold texts too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deepbroad.data.file_formats import TableFile
from deepbroad.data.number_text import read_numbers, read_whole_numbers


@dataclass(frozen=True)
class ChosenFiles:
    """Files and how to read them, which may stand wherever files may.

    Parameters
    ----------
    files : str, path or list of paths
        As for `open_files`.
    drop : tuple of str
        Columns that are no attributes.
    numeric : tuple of str
        Columns that are numbers; texts in them that are none, such as "?", are missing.
    """

    files: Any
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()


class NumericFile(TableFile):
    """A file some of whose columns of text are read as numbers.

    Parameters
    ----------
    file : TableFile
    numeric : sequence of str
        What is no number in them is missing.
    likely : sequence of str
        The same, but they stay as they are where not a single text is a number.
    whole : sequence of str
        As `likely`, of whole numbers, which stay exact: they are categories.
    """

    def __init__(
        self,
        file: TableFile,
        numeric: Sequence[str] = (),
        likely: Sequence[str] = (),
        whole: Sequence[str] = (),
    ) -> None:
        super().__init__(file.path)
        self._file, self._numeric, self._likely = file, tuple(numeric), tuple(likely)
        self._whole = tuple(whole)
        self.n_rows = file.n_rows
        self.decimal_point = file.decimal_point

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self._file.names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        for batch in self._file.batches(columns, rows):
            for name in (*self._numeric, *self._likely, *self._whole):
                if name not in columns or not _is_text(batch[name].type):
                    continue
                read = read_whole_numbers if name in self._whole else read_numbers
                numbers = read(batch[name], self.decimal_point)
                if name in self._numeric or numbers.null_count < len(numbers):
                    batch = batch.set_column(batch.column_names.index(name), name, numbers)
            yield batch

    def count_rows(self) -> int:
        """Return how many rows there are."""
        return self._file.count_rows()

    def split(self, rows: int) -> "Sequence[TableFile]":
        """Return parts that can be read apart."""
        parts = self._file.split(rows)
        return [NumericFile(part, self._numeric, self._likely, self._whole) for part in parts]

    def check_unchanged(self) -> None:
        """Raise an error if the file is not what it was when it was opened."""
        self._file.check_unchanged()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
