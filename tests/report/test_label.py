"""Names cut to the room that there is."""

from hypothesis import given
from hypothesis import strategies as st

from deepbroad.report.label import AND, LEAST, cut

PARTS = st.lists(st.text("abc_", min_size=1, max_size=40), min_size=1, max_size=4)


@given(PARTS, st.integers(2, 200))
def test_a_text_has_the_room_it_is_given_and_uses_it(parts, longest):
    text = AND.join(parts)
    found = cut(text, longest)
    assert len(found) <= longest
    assert found == text or len(found) > longest - len(parts)


@given(PARTS, st.integers(2, 200))
def test_every_part_is_left_where_there_is_room_for_it(parts, longest):
    found = cut(AND.join(parts), longest).split(AND)
    if longest >= len(parts) * (LEAST + len(AND)):
        assert len(found) == len(parts)
        assert all(own.startswith(part.rstrip("…")) for own, part in zip(parts, found, strict=True))


def test_short_names_leave_room_to_long_ones():
    assert cut("a & Horizontal_Distance_To_Roadways", 20) == "a & Horizontal_Dist…"
    assert cut("abcdefghijkl & mnopqrstuvwx", 13) == "abcd… & mnop…"
    assert cut("abcdefghijkl", 5) == "abcd…"
    assert cut(12) == "12"
