"""What users are told of columns that may not be what they seem."""

import warnings
from collections.abc import Sequence

from deepbroad.data.value import Identity


def warn_of_stray_text(name: str, values: Sequence[Identity]) -> None:
    """Warn of a column of numbers that a few words make a category of thousands of values."""
    words = [value for value in values if isinstance(value, str)]
    numbers = sum(isinstance(value, int | float) for value in values)
    if words and numbers > max(20, 9 * len(words)):
        warnings.warn(
            f"Column {name!r} holds {numbers:,} different numbers and text such as {words[0]!r}, "
            "so it counts as a category. Make the text missing to have numbers, or name the column "
            "in `categorical_features`.",
            UserWarning,
            stacklevel=2,
        )


def warn_of_merged_integers(name: str) -> None:
    """Warn of a column of integers that are not all different as float64."""
    warnings.warn(
        f"Column {name!r} holds integers beyond 2^53, some of which are the same number here: they "
        "are told apart only coarsely. If they are identifiers, leave the column out, or name it "
        "in `categorical_features`, which keeps them exact.",
        UserWarning,
        stacklevel=2,
    )
