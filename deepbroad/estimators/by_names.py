"""Tables of a model that are found by the names of their attributes."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from deepbroad.data.encoding import Encoding
from deepbroad.data.names import suggest

Table = TypeVar("Table")


class ByNames(Mapping[tuple[str, ...], Table]):
    """Tables of some tuples of attributes, whose names may come in any order; made when asked for.

    `_kind` says in a word what there is of each.
    """

    _kind: str

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    @property
    @abstractmethod
    def _known(self) -> Mapping[tuple[int, ...], Any]:
        """The tuples that there are, as places of attributes in ascending order."""

    @abstractmethod
    def _make(self, names: tuple[str, ...], places: list[int]) -> Table:
        """Return the table of a tuple that there is, its axes in the order of the names."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for attributes in self._known:
            yield tuple(self._encoding.names[a] for a in attributes)

    def __getitem__(self, attributes: Any) -> Table:
        names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        known = list(self._encoding.names)
        for name in names:
            if name not in known:
                raise KeyError(
                    f"no {self._kind} of {names!r}: {name!r} is no attribute. "
                    f"{suggest(name, known, 'attributes')}"
                )
        places = [known.index(name) for name in names]
        if tuple(sorted(places)) not in self._known:
            raise KeyError(
                f"no {self._kind} of {names!r}; iterate over this mapping to see which there are"
            )
        return self._make(names, places)
