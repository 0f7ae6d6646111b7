"""One trial: a method on one fold of a data set, and the key of what determines its outcome."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import deepbroad
from deepbroad.experiments.dataset import Dataset, Shape
from deepbroad.experiments.methods import Method
from deepbroad.experiments.protocol import Protocol


@dataclass(frozen=True)
class Subject:
    """A data set as it was found.

    Parameters
    ----------
    dataset : Dataset
        Which one.
    folder : Path or None
        Where its file is looked for.
    shape : Shape
        What it has.
    checksum : str
        Of its content.
    """

    dataset: Dataset
    folder: Path | None
    shape: Shape
    checksum: str


@dataclass(frozen=True)
class Trial:
    """A method on one fold of a data set.

    Parameters
    ----------
    subject : Subject
        The data set.
    method : Method
        The method.
    round, fold : int
        Which part of the data set is the test part.
    protocol : Protocol
        How parts are drawn.
    """

    subject: Subject
    method: Method
    round: int
    fold: int
    protocol: Protocol

    @property
    def names(self) -> tuple[str, str]:
        """The names of data set and method, which all folds share."""
        return self.subject.dataset.name, self.method.name

    @cached_property
    def key(self) -> str:
        """A checksum of all that determines the outcome; times and limits aside."""
        # The number of rounds is left out: further ones leave the first as they are.
        parts = [
            *self.names,
            self.subject.checksum,
            self.method.parameters,
            self.round,
            self.fold,
            self.protocol.seed,
            self.protocol.stratified,
            deepbroad.__version__,
        ]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()
