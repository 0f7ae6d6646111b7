import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, größer, 日本, ☃ \\", "plain, größer, 日本, ☃ \\"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x7f\x00\x07\r", "a\\x7f\\x00\\x07\\r"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\u202eabc\u202c\u2066d\u2069", "\\u202eabc\\u202c\\u2066d\\u2069"),
        ("\u2028\udc80", "\\u2028\\udc80"),
        ("a\u200db", "a\u200db"),  # joins the parts of some letters and emoji
    ],
)
def test_control_characters_are_written_as_escapes(text, shown):
    assert printable(text) == shown


def test_the_ends_of_lines_may_stay():
    assert printable("a\nb\x1b\r\n", lines=True) == "a\nb\\x1b\\r\n"


@given(st.text(st.characters()))
def test_nothing_is_left_that_controls_a_terminal(text):
    shown = printable(text)
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown
