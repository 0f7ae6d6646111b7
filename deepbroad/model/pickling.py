"""Pickle what a frozen dataclass was made from, not what it has computed and cached since."""

from dataclasses import fields
from typing import Any


class FieldsOnly:
    """Mixin for dataclasses whose cached properties can be many times larger than the rest."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
