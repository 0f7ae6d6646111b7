import pytest

from deepbroad.data.names import list_names, suggest


def test_a_list_is_whole_or_says_how_many_more_there_are():
    names = [f"c{i}" for i in range(21)]
    assert list_names(names[:20]).endswith("'c18', 'c19'")
    assert list_names(names).endswith("'c18', 'c19' and 1 more")
    assert list_names(range(3000), most=1) == "0 and 2,999 more"
    assert list_names([]) == "none"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("subscribe", "'subscribed'"),
        ("SUBSCRIBED", "'subscribed'"),
        (" subscribed", "'subscribed'"),
        ("1", "1"),
        ("AGE", "'age'"),
    ],
)
def test_the_nearest_name_is_offered_though_the_list_does_not_have_it(name, nearest):
    known = [*(f"column {i}" for i in range(30)), "subscribed", "age", 1]
    said = suggest(name, known)
    assert said.startswith(f"Did you mean {nearest}? All columns: 'column 0', 'column 1', ")
    assert said.endswith("'column 19' and 13 more.")


def test_nothing_is_offered_where_no_name_is_alike():
    assert suggest("target", ["a", "b"], "classes") == "All classes: 'a', 'b'."
    assert suggest("target", []) == "All columns: none."
    assert suggest(None, ["None"]) == "All columns: 'None'."


def test_of_names_that_differ_in_capitals_the_first_is_offered():
    assert suggest("JOb", ["Job", "job"]).startswith("Did you mean 'Job'?")


def test_control_characters_of_names_are_written_as_escapes():
    assert suggest("a\x1bb", ["a\x1bc"]) == r"Did you mean 'a\x1bc'? All columns: 'a\x1bc'."
