"""What `categorical_features` may be, and how it is refused."""

import numpy as np
import pytest

from deepbroad.data.categorical import select_categorical

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    "chosen",
    [
        ["a", "c"],
        [0, 2],
        (2, 0),
        [True, False, True],
        np.array([0, 2]),
        np.array(["a", "c"]),
        np.array([True, False, True]),
        [0, "c"],
    ],
)
def test_names_indices_and_masks_say_the_same(chosen):
    assert select_categorical(chosen, NAMES).tolist() == [True, False, True]


def test_auto_leaves_the_choice_and_none_and_nothing_choose_no_column():
    assert select_categorical("auto", NAMES) is None
    assert not select_categorical(None, NAMES).any()
    assert not select_categorical([], NAMES).any()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("a", r"which is no list \(write \['a'\]\)"),
        (["z"], "names 'z', which is no column"),
        ([3], "index 3, but there are 3 columns"),
        ([-1], "index -1"),
        ([True, False], "mask of length 2 for 3 columns"),
        ([1.5], "1.5, which is neither"),
        ([True, 1], "True, which is neither"),
        (5, "0 dimensions"),
        ([[0]], "2 dimensions"),
    ],
)
def test_a_wrong_choice_is_refused_with_the_known_columns(chosen, message):
    with pytest.raises(ValueError, match=message) as error:
        select_categorical(chosen, NAMES)
    assert "All columns: 'a', 'b', 'c'." in str(error.value)


def test_of_many_columns_the_first_are_listed_and_the_nearest_is_offered():
    names = [*(f"x{i}" for i in range(1000)), "subscribed"]
    with pytest.raises(ValueError, match=r"'x19' and 981 more\.$") as error:
        select_categorical(["subscribe"], names)
    assert "Did you mean 'subscribed'? All columns: 'x0', " in str(error.value)
