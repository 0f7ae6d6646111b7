"""Sizes as people write them."""

import numpy as np
import pytest

from deepbroad.engine.memory import USABLE, format_bytes, free_memory, parse_limit


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9), ("512MiB", 512 * 2**20), ("1.5 kB", 1500), ("2 tb", 2 * 10**12),
        ("100", 100), ("100B", 100), (100, 100), (1e9, 10**9), (np.int64(7), 7),
    ],
)  # fmt: skip
def test_limits_are_read_as_people_write_them(text, size):
    assert parse_limit(text) == size


def test_no_limit_is_most_of_what_is_free():
    assert 0 < parse_limit(None) <= USABLE * 1.5 * free_memory()


@pytest.mark.parametrize(
    "limit", ["much", "4XB", "GB", "1.2.3GB", ".", "-4GB", "", 0, -1, True, float("nan"), [1], {}]
)
def test_other_limits_are_refused(limit):
    with pytest.raises(
        ValueError, match="memory_limit must be a number of bytes or a size such as"
    ):
        parse_limit(limit)


def test_an_infinite_limit_is_no_limit():
    assert parse_limit(float("inf")) > 10**15


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (25e6, "25 MB"),
        (3.2e9, "3.2 GB"),
        (5e15, "5000 TB"),
    ],
)
def test_sizes_are_written_as_people_read_them(size, text):
    assert format_bytes(size) == text
