"""CSV files in batches: the types of columns are those of the first rows, or text where asked."""

import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from deepbroad.data.file_formats import TableFile, slices

# The types of columns are inferred from the first block.
_BLOCK = 2**22


class CsvTable(TableFile):
    """A CSV file; empty text and NA are missing, in columns of text too.

    Parameters
    ----------
    path : Path
    types : dict from names to Arrow types
        Of columns; others are inferred.
    """

    def __init__(self, path: Path, types: dict[str, pa.DataType]) -> None:
        super().__init__(path)
        self._types = types
        with open_csv(path, types) as reader:
            self._schema = reader.schema

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        try:
            with open_csv(Path(str(self)), self._types, columns) as reader:
                for batch in reader:
                    yield from slices(pa.Table.from_batches([batch]), rows)
        except pa.ArrowInvalid as error:
            raise self._explain(error, columns) from error

    def _explain(self, error: pa.ArrowInvalid, columns: Sequence[str]) -> ValueError:
        """Return an error that says what to do about a value of another type than the first."""
        found = re.search(
            r"column #(\d+).*?conversion error to ([\w\[\]]+): (.*)", str(error), re.DOTALL
        )
        if not found:
            return ValueError(f"{self.path} cannot be read as CSV: {error}")
        name = self.names[int(found[1])]
        return ValueError(
            f"{self.path}: column {name!r} began with values of type {found[2]}, but has "
            f"{found[3].strip()}. Name it in `categorical_features` to have it read as text, or "
            "correct the file"
        )


def infer_types(
    paths: Sequence[Path], *, text: Collection[str], exact: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types of the columns of CSV files, from the first rows that have values.

    Whole numbers become floats, unless they are in `exact`: the next rows may have fractions, and
    to cut points they are the same. Those of `text` become text.
    """
    types = {name: pa.string() for name in text}
    types = _read_types(paths[0], types)
    for path in paths:
        empty = [name for name, kind in types.items() if pa.types.is_null(kind)]
        if empty:
            types |= _find_types(path, empty)
    return {
        name: pa.float64() if pa.types.is_integer(kind) and name not in exact else kind
        for name, kind in types.items()
    }


def open_csv(
    path: Path, types: dict[str, pa.DataType], columns: Sequence[str] | None = None
) -> pa.csv.CSVStreamingReader:
    """Open a CSV file, compressed or not, for reading in batches."""
    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        return pa.csv.open_csv(
            pa.input_stream(str(path), compression="detect"),
            pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
            pa.csv.ParseOptions(delimiter=separator),
            pa.csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                include_columns=None if columns is None else list(columns),
            ),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as CSV: {error}") from error


def _read_types(path: Path, types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    with open_csv(path, types) as reader:
        return {field.name: field.type for field in reader.schema}


def _find_types(path: Path, names: list[str]) -> dict[str, pa.DataType]:
    """Return the types of columns whose first block is empty, as far as the file shows them."""
    found: dict[str, pa.DataType] = {}
    with open_csv(path, dict.fromkeys(names, pa.string()), names) as reader:
        for batch in reader:
            for name in set(names) - set(found):
                values = batch.column(name).drop_null()
                if len(values):
                    found[name] = _type_of(values)
            if len(found) == len(names):
                break
    return found


def _type_of(values: pa.Array) -> pa.DataType:
    """Return the type that CSV gives to some texts."""
    buffer = io.BytesIO()
    pa.csv.write_csv(pa.table({"x": values}), buffer)
    buffer.seek(0)
    return pa.csv.read_csv(buffer).schema.field("x").type
