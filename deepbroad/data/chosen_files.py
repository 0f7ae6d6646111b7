"""Files of which only some columns are wanted, or some as numbers though they hold texts too."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deepbroad.data.file_formats import TableFile
from deepbroad.data.number_text import read_numbers, read_whole_numbers

# Signs alone, such as "?", stand for missing values in many a table.
_WORD = r"[\pL\pN]"


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
        The same, but they stay as they are where all texts are words.
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
        self._warned: set[str] = set()
        self.n_rows = file.n_rows
        self.decimal_point = file.decimal_point

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self._file.names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns; warn of texts that were lost when all rows are read."""
        tallies = {n: _Tally() for n in (*self._numeric, *self._likely, *self._whole)}
        for batch in self._file.batches(columns, rows):
            for name in (*self._numeric, *self._likely, *self._whole):
                if name not in columns or not _is_text(batch[name].type):
                    continue
                read = read_whole_numbers if name in self._whole else read_numbers
                numbers = read(batch[name], self.decimal_point)
                words = _find_words(batch[name], numbers)
                if name in self._numeric or numbers.null_count < len(numbers) or not len(words):
                    tallies[name].add(numbers, words)
                    batch = batch.set_column(batch.column_names.index(name), name, numbers)
            yield batch
        for name, tally in tallies.items():
            self._warn(name, tally)

    def _warn(self, name: str, tally: "_Tally") -> None:
        """Warn of words among numbers, once; where a user allows them, if there is no number."""
        allowed = name in self._whole or (name in self._numeric and tally.numbers)
        if allowed or not tally.words or name in self._warned:
            return
        self._warned.add(name)
        if name in self._numeric:
            what = f"is said to hold numbers, but none of its {tally.rows:,} values"
            verb = "is one"
        else:
            what = f"holds numbers, but {tally.words:,} of its {tally.rows:,} values"
            verb = "are none"
        warnings.warn(
            f"{self}: column {name!r} {what}, such as {tally.example!r}, {verb}; they count as "
            "missing",
            UserWarning,
            stacklevel=2,
        )

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


@dataclass
class _Tally:
    """What was read of a column: rows, numbers, and words, of which one is the example."""

    rows: int = 0
    numbers: int = 0
    words: int = 0
    example: str = ""

    def add(self, numbers: pa.ChunkedArray, words: pa.ChunkedArray) -> None:
        """Take in what texts were read as, and those that are no numbers."""
        self.rows += len(numbers)
        self.numbers += len(numbers) - numbers.null_count
        self.words += len(words)
        self.example = self.example or (words[0].as_py() if len(words) else "")


def _find_words(texts: pa.ChunkedArray, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts that are no numbers, but for those that stand for missing values."""
    if numbers.null_count == texts.null_count:
        return texts[:0]
    lost = texts.filter(pc.is_null(numbers)).drop_null().cast(pa.string())
    return lost.filter(pc.match_substring_regex(lost, _WORD))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
