"""The outside of a model file: a safetensors file with a checksum; knows nothing of models.

The header's one metadata entry is JSON: a SHA-256 over the whole file (with zeros in its own
place), the format number, the library's version and the estimator's class.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from deepbroad.engine.tensor_file import DIGEST, START, parse_json, write_atomically
from deepbroad.persist.error import ModelFileError

# Files of this format are written; of format 1, which has no frequencies of values, still read.
FORMAT = 2
READABLE = (1, 2)


class Stamp(NamedTuple):
    """Who wrote a file."""

    version: str
    class_name: str
    format: int = FORMAT


def pack_file(stamp: Stamp, tensors: dict[str, np.ndarray]) -> bytearray:
    """Return the bytes of a model file."""
    metadata = {
        "sha256": "0" * 64,
        "format": FORMAT,
        "version": stamp.version,
        "class": stamp.class_name,
    }
    text = json.dumps(metadata, separators=(",", ":"))
    data = bytearray(safetensors.save(tensors, {"deepbroad": text}))
    data[DIGEST] = _digest(data)
    return data


def unpack_file(data: bytes, *, version: str) -> tuple[Stamp, dict[str, np.ndarray]]:
    """Return what `pack_file` packed; ModelFileError if anything about it is not as it was."""
    if data[8 : 8 + len(START)] != START:
        raise ModelFileError("it is not a deepbroad model file")
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 + length:
        raise ModelFileError("it is truncated: its header is not complete")
    header = parse_json(data[8 : 8 + length])
    match parse_json(header["__metadata__"]["deepbroad"].encode()):
        case {
            "sha256": str(digest),
            "format": int(number),
            "version": str(writer),
            "class": str(class_name),
        }:
            pass
        case _:
            raise ModelFileError("its header is damaged")
    if number not in READABLE:
        raise ModelFileError(
            f"it has model format {number} and was written by deepbroad {writer:.40}, but "
            f"deepbroad {version} reads formats {' and '.join(map(str, READABLE))}. Use deepbroad "
            f"{writer:.40} to read it"
        )
    if len(data) < 8 + length + _data_length(header):
        raise ModelFileError("it is truncated: its arrays are not complete")
    if digest.encode() != _digest(data):
        raise ModelFileError("its checksum does not match: it was damaged or changed")
    try:
        return Stamp(writer, class_name, number), safetensors.load(bytes(data))
    except (SafetensorError, KeyError, ValueError) as error:
        raise ModelFileError(f"its arrays are damaged ({error})") from None


def write_file(path: Path, data: bytes | bytearray, check: Callable[[Path], object]) -> None:
    """Write a file that replaces an older one as a whole, once `check` accepts its path."""
    path = Path(os.path.realpath(path))  # a link stays a link
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save a model in.")
    write_atomically(path, lambda file: file.write(data), check)


def _digest(data: bytes | bytearray) -> bytes:
    """Return the checksum of a file in hexadecimal digits."""
    view = memoryview(data)
    sha = hashlib.sha256(view[: DIGEST.start])
    sha.update(b"0" * 64)
    sha.update(view[DIGEST.stop :])
    return sha.hexdigest().encode()


def _data_length(header: dict[str, Any]) -> int:
    """Return how many bytes of arrays a header announces; 0 if it cannot be told."""
    ends = [0]
    for entry in header.values():
        match entry:
            case {"data_offsets": [int(), int(end)]}:
                ends.append(end)
    return max(ends)
