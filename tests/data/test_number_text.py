"""Texts that may say numbers."""

import pyarrow as pa
import pytest

from deepbroad.data.number_text import Spelling, read_numbers, read_whole_numbers, spelling_of


@pytest.mark.parametrize(
    ("texts", "spelling"),
    [
        ([], Spelling.WHOLE),
        ([None, "0", "-7", " 12 "], Spelling.WHOLE),
        (["9" * 18], Spelling.WHOLE),
        (["9" * 19], Spelling.TEXT),
        (["1", "2.5"], Spelling.NUMBER),
        (["1", "1e3"], Spelling.NUMBER),
        (["1", "00"], Spelling.TEXT),
        (["1", "-01"], Spelling.TEXT),
        (["1", "2.5", "01"], Spelling.TEXT),
        (["1", "x"], Spelling.TEXT),
    ],
)
def test_texts_are_read_as_what_keeps_them_apart(texts, spelling):
    assert spelling_of(pa.array(texts, pa.string())) == spelling


def test_decimal_commas_are_commas_of_numbers():
    texts = pa.chunked_array([["1,5", "2,0", "3"]])
    assert spelling_of(texts, ",") == Spelling.NUMBER
    assert read_numbers(texts, ",").to_pylist() == [1.5, 2, 3]
    assert read_whole_numbers(texts, ",").to_pylist() == [None, 2, 3]


def test_whole_numbers_are_exact_and_nothing_else():
    texts = pa.chunked_array([["9007199254740993", "1e300", "-4.0", "04", "?", "9" * 19, None]])
    expected = [9007199254740993, None, -4, None, None, None, None]
    assert read_whole_numbers(texts).to_pylist() == expected
