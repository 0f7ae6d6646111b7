"""Arrays and JSON in a file that appears whole or not at all, and that shows any damage.

It is a safetensors file whose one metadata entry is JSON, a SHA-256 over the whole file first (with
zeros in its own place). Arrays go straight from memory to the file and back, without a copy.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

# The checksum comes first, so that its place is known.
START = b'{"__metadata__":{"deepbroad":"{\\"sha256\\":\\"'
DIGEST = slice(8 + len(START), 8 + len(START) + 64)
# The names of types in safetensors files.
DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float32": "F32",
    "float64": "F64",
}
_NAMES = {theirs: ours for ours, theirs in DTYPES.items()}
# The safetensors library reads no longer header.
MAX_HEADER = 100_000_000
# Bytes that are hashed and written at a time, while they are in the cache.
PIECE = 1 << 20


class DamagedFile(ValueError):
    """A file is not as it was written."""


class Entry(NamedTuple):
    """An array that a header announces."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


def write_tensors(
    file: BinaryIO, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a file, which must be empty and let one seek."""
    text = json.dumps({"sha256": "0" * 64, **description}, separators=(",", ":"), allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {"deepbroad": text}}
    at = 0
    for name, array in arrays.items():
        offsets = [at, at + array.nbytes]
        dtype = DTYPES[array.dtype.name]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        at += array.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    if len(head) > MAX_HEADER:
        raise ValueError("The description is too long for a file.")
    head = len(head).to_bytes(8, "little") + head
    sha = hashlib.sha256(head)
    file.write(head)
    for array in arrays.values():
        for piece in _pieces(np.ascontiguousarray(array)):
            sha.update(piece)
            file.write(piece)
    file.seek(DIGEST.start)
    file.write(sha.hexdigest().encode())


def read_description(file: BinaryIO) -> dict[str, Any]:
    """Return the JSON of a file, not knowing yet whether it is damaged."""
    return _read_header(file)[1]


def read_tensors(file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what `write_tensors` wrote; DamagedFile if a single bit is not as it was."""
    head, description, entries = _read_header(file)
    digest = head[DIGEST]
    head[DIGEST] = b"0" * 64
    sha = hashlib.sha256(head)
    arrays = {}
    for entry in entries:
        try:
            array = np.empty(entry.shape, entry.dtype)
        except ValueError as error:
            raise DamagedFile(f"an array cannot be of its shape ({error!s:.80})") from None
        for piece in _pieces(array):
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise DamagedFile("it is truncated")
            sha.update(piece)
        arrays[entry.name] = array
    if sha.hexdigest().encode() != bytes(digest):
        raise DamagedFile("its checksum does not match")
    return description, arrays


def parse_json(text: bytes) -> Any:
    """Return the JSON value of `text`; stricter than Python's: no NaN, no key twice."""
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"its description is damaged ({error!s:.80})") from None


def write_atomically(
    path: Path,
    write: Callable[[BinaryIO], object],
    check: Callable[[Path], object] | None = None,
) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part.

    A link stays a link. `check` is given the path of the new file before that takes the place of
    the old one. If it raises an error, the old file stays. A device or a named pipe is written to
    as it is, unchecked: a rename would put a file in its place, and it may not be read again.
    """
    path = Path(os.path.realpath(path))
    if is_special(path):
        with path.open("wb") as file:
            write(file)
        return
    beside = name_beside(path)
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if check is not None:
            check(beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def name_beside(path: Path) -> Path:
    """Return a new hidden name in the folder of a file, to write to before a rename."""
    return path.with_name(f".{path.name:.80}.{secrets.token_hex(4)}.tmp")


def is_special(path: Path) -> bool:
    """Tell whether a path is a device, a named pipe or a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk; not every system lets one open a folder."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read_header(file: BinaryIO) -> tuple[bytearray, dict[str, Any], list[Entry]]:
    """Return the header's bytes, the description and the arrays that fill the rest of the file."""
    size = os.fstat(file.fileno()).st_size
    head = bytearray(file.read(8))
    length = int.from_bytes(head, "little")
    if len(head) < 8 or not len(START) + 64 <= length <= min(size - 8, MAX_HEADER):
        raise DamagedFile("its header is not complete")
    head += file.read(length)
    if len(head) < 8 + length or head[8 : 8 + len(START)] != START:
        raise DamagedFile("it is no file of deepbroad")
    header = parse_json(bytes(head[8:]))
    match header.pop("__metadata__", None):
        case {"deepbroad": str(text), **rest} if not rest:
            description = parse_json(text.encode())
        case _:
            raise DamagedFile("its description is damaged")
    if not isinstance(description, dict):
        raise DamagedFile("its description is damaged")
    return head, description, list(_list_entries(header, size - len(head)))


def _list_entries(header: dict[str, Any], room: int) -> Iterator[Entry]:
    """Go through the announced arrays, which follow each other and leave no room."""
    at = 0
    for name, entry in header.items():
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [begin, end]} if (
                kind in _NAMES
                and all(type(length) is int and 0 <= length < 2**63 for length in shape)
                and len(shape) <= 8
            ):
                dtype = np.dtype(_NAMES[kind])
            case _:
                raise DamagedFile(f"its array {name!r:.60} is not described")
        if begin != at or end != at + prod(shape) * dtype.itemsize or end > room:
            raise DamagedFile(f"its array {name!r:.60} is not where it should be")
        yield Entry(name, dtype, tuple(shape))
        at = end
    if at != room:
        raise DamagedFile("its length is not that of its arrays")


def _pieces(array: np.ndarray) -> Iterator[memoryview]:
    """Go through the bytes of a contiguous array."""
    flat = memoryview(array.reshape(-1).view(np.uint8).data)
    for begin in range(0, len(flat), PIECE):
        yield flat[begin : begin + PIECE]


def _refuse(constant: str) -> None:
    raise ValueError(f"not JSON: {constant}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's entries; ValueError if one comes twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key comes twice")
    return entries
