"""CSV files in batches: the types of columns are those of the first rows, or text where asked."""

import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from deepbroad.data.csv_dialect import sniff_dialect, wrong_encoding
from deepbroad.data.file_formats import TableFile, slices
from deepbroad.data.names import list_names
from deepbroad.data.number_text import Spelling, has_long, has_padded, spelling_of

# The types of columns are inferred from the first block. Arrow reads some blocks ahead: of 4 MiB
# they took 160 MB on a table of 21 columns, of 1 MiB 90.
_BLOCK = 2**20
# Of text there is no such error but for bytes that are none.
_CONVERSION = re.compile(
    r"column #(\d+).*?conversion error to (?!string)([\w\[\]]+): (.*)", re.DOTALL
)
# From the name of a column and the whole numbers that it begins with to its type.
Settle = Callable[[str, pa.Array], pa.DataType]


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
        self.decimal_point = sniff_dialect(path).decimal_point
        self._names = list(_read_types(path, {}))

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns."""
        try:
            with open_csv(Path(str(self)), self._types, columns) as reader:
                for batch in reader:
                    yield from slices(pa.Table.from_batches([batch]), rows)
        except pa.ArrowInvalid as error:
            raise self._explain(error) from error

    def count_rows(self) -> int:
        """Return how many rows there are, whatever types their values have."""
        first = self.names[:1]
        try:
            with open_csv(Path(str(self)), dict.fromkeys(first, pa.string()), first) as reader:
                return sum(batch.num_rows for batch in reader)
        except pa.ArrowInvalid as error:
            raise self._explain(error) from error

    def _explain(self, error: pa.ArrowInvalid) -> ValueError:
        """Return an error that says what to do about a value of another type than the first."""
        found = _CONVERSION.search(str(error))
        if not found:
            return _refusal(self, error)
        name = self.names[int(found[1])]
        return ValueError(
            f"{self.path}: column {name!r} began with values of type {found[2]}, but has "
            f"{found[3].strip()}. Name it in `categorical_features` (--categorical) to have it "
            "read as text, in --numeric to have such values missing, or correct the file"
        )


def infer_types(
    paths: Sequence[Path],
    text: Collection[str],
    labels: Collection[str],
    categories: Collection[str],
    numbers: Collection[str] = (),
) -> dict[str, pa.DataType]:
    """Return the types of the columns of CSV files, from the first rows that have values.

    Whole numbers become floats, unless they are in `labels`: the next rows may have fractions, and
    to cut points they are the same. Where those that tell the type are padded with zeros, such as
    007, they are codes and become text, and where they have too many digits for floats they stay
    integers, unless they are `numbers`. Those of `text` become text. Those of `categories` are gone
    through: they become text if not all their values have the type of the first, or if any is
    written as whole numbers are not; but labels among which are fractions are floats.
    """
    settle = partial(_settle_whole, exact={*labels, *categories}, numbers=numbers)
    types = _read_types(paths[0], dict.fromkeys(text, pa.string()))
    whole = [name for name, kind in types.items() if pa.types.is_integer(kind)]
    types |= _settle_first(paths[0], whole, settle)
    for path in paths:
        empty = [name for name, kind in types.items() if pa.types.is_null(kind)]
        if empty:
            types |= _find_types(path, empty, settle)
    named = {name: types[name] for name in categories if types.get(name) not in (None, pa.string())}
    return types | _settle_categories(paths, named, labels)


def open_csv(
    path: Path, types: dict[str, pa.DataType], columns: Sequence[str] | None = None
) -> pa.csv.CSVStreamingReader:
    """Open a CSV file, compressed or not, for reading in batches."""
    dialect = sniff_dialect(path)
    return pa.csv.open_csv(
        pa.input_stream(str(path), compression="detect"),
        pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK),
        pa.csv.ParseOptions(delimiter=dialect.delimiter),
        pa.csv.ConvertOptions(
            column_types=types,
            decimal_point=dialect.decimal_point,
            strings_can_be_null=True,
            include_columns=None if columns is None else list(columns),
            include_missing_columns=True,
        ),
    )


def _refusal(path: Any, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
        return wrong_encoding(path, "latin1")
    if "straddl" in str(error):
        return ValueError(
            f"{path} has a line of more than {_BLOCK:,} bytes, too long to be read in "
            "batches. Leave columns of long texts out, or convert it to Parquet"
        )
    return ValueError(f"{path} cannot be read as CSV: {error}. Correct or convert it")


def _read_types(path: Path, types: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Return the names of the columns of a file, and the types that its first block has."""
    try:
        with open_csv(path, types) as reader:
            names = reader.schema.names
            found = dict(zip(names, reader.schema.types, strict=True))
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _refusal(path, error) from error
    if len(found) < len(names):
        raise ValueError(f"column names must differ: {path} has {list_names(names)}")
    if any(pa.types.is_binary(kind) for kind in found.values()):
        # What Arrow takes text for that is none in UTF-8.
        raise wrong_encoding(path, "latin1")
    return found


def _settle_whole(
    name: str, texts: pa.Array, *, exact: Collection[str], numbers: Collection[str]
) -> pa.DataType:
    """Return the type of a column that begins with these texts, all of them whole numbers."""
    if name in numbers:
        return pa.float64()
    if has_padded(texts):
        return pa.string()
    return pa.int64() if name in exact or has_long(texts) else pa.float64()


def _settle_first(path: Path, names: list[str], settle: Settle) -> dict[str, pa.DataType]:
    """Return the types of columns whose first block has whole numbers only."""
    if not names:
        return {}
    with open_csv(path, dict.fromkeys(names, pa.string()), names) as reader:
        first = next(iter(reader))
    return {name: settle(name, first.column(name)) for name in names}


def _find_types(path: Path, names: list[str], settle: Settle) -> dict[str, pa.DataType]:
    """Return the types of columns whose first block is empty, as far as the file shows them."""
    found: dict[str, pa.DataType] = {}
    with open_csv(path, dict.fromkeys(names, pa.string()), names) as reader:
        for batch in reader:
            for name in set(names) - set(found):
                values = batch.column(name).drop_null()
                if len(values):
                    kind = _type_of(values, sniff_dialect(path).decimal_point)
                    found[name] = settle(name, values) if pa.types.is_integer(kind) else kind
            if len(found) == len(names):
                break
    return found


def _settle_categories(
    paths: Sequence[Path], types: dict[str, pa.DataType], labels: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types of categories by all their values; `types` are those of the first."""
    whole = [name for name, kind in types.items() if pa.types.is_integer(kind)]
    # Versions 1.1 and 1.10 are two; as labels, fractions are to be refused as what they are.
    fractions = [n for n, kind in types.items() if pa.types.is_floating(kind) and n not in labels]
    settled = types | dict.fromkeys(fractions, pa.string())
    for name, spelling in _find_spellings(paths, whole).items():
        if spelling == Spelling.NUMBER and name in labels:
            settled[name] = pa.float64()
        elif spelling != Spelling.WHOLE:
            settled[name] = pa.string()
    others = [name for name in types if name not in (*whole, *fractions)]
    return settled | dict.fromkeys(_find_mixed(paths, settled, others), pa.string())


def _find_spellings(paths: Sequence[Path], names: list[str]) -> dict[str, Spelling]:
    """Return as what all values of some columns can be read; they are gone through as text."""
    found = dict.fromkeys(names, Spelling.WHOLE)
    for path in paths if names else ():
        decimal_point = sniff_dialect(path).decimal_point
        try:
            with open_csv(path, dict.fromkeys(names, pa.string()), names) as reader:
                for batch in reader:
                    for name in names:
                        spelling = spelling_of(batch.column(name), decimal_point)
                        found[name] = max(found[name], spelling)
        except pa.ArrowInvalid as error:
            raise _refusal(path, error) from error
    return found


def _find_mixed(
    paths: Sequence[Path], types: dict[str, pa.DataType], names: list[str]
) -> list[str]:
    """Return those of some columns that hold other values than of their types."""
    mixed: list[str] = []
    for path in paths:
        while len(mixed) < len(names):
            rest = [name for name in names if name not in mixed]
            try:
                with open_csv(path, types, rest) as reader:
                    for _ in reader:
                        pass
                break
            except pa.ArrowInvalid as error:
                found = _CONVERSION.search(str(error))
                if not found:
                    raise _refusal(path, error) from error
                mixed.append(list(_read_types(path, {}))[int(found[1])])
    return mixed


def _type_of(values: pa.Array, decimal_point: str) -> pa.DataType:
    """Return the type that CSV gives to some texts."""
    buffer = io.BytesIO()
    pa.csv.write_csv(pa.table({"x": values}), buffer)
    buffer.seek(0)
    options = pa.csv.ConvertOptions(decimal_point=decimal_point)
    return pa.csv.read_csv(buffer, convert_options=options).schema.field("x").type
