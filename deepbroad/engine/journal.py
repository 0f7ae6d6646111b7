"""What a fit has come to, written down as it goes and read again by a fit that goes on.

A fit minimises once or several times: in parts, which are the folds of a temperature and the whole,
each in the stages of its loss. The state of the solver belongs to one of them. Beside it, there are
notes: what was found before, such as an automatic choice.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from deepbroad.engine.checkpoint import Checkpoint, CheckpointError, Saved
from deepbroad.engine.record import pack, unpack
from deepbroad.model.arrangement import Arrangement
from deepbroad.model.loss import Loss
from deepbroad.model.terms import Terms
from deepbroad.solvers import LBFGS, DualFirst, Progress, Solver, State
from deepbroad.solvers.solver import Callback

Note = TypeVar("Note")

# Share of the time that saving may take.
SHARE = 0.05
# What a save takes is measured; before the first it is guessed: seconds, and bytes per second.
LEAST_SECONDS, SPEED = 0.01, 3e8


@dataclass(frozen=True, eq=False)
class Position:
    """The minimisation that a state is of.

    Attributes
    ----------
    part, stage : str
    members : ndarray of shape (n_terms, depth)
        The members of the plan's terms, which tell the order of parameters.
    """

    part: str
    stage: str
    members: np.ndarray


class Journal:
    """The journal of a fit that keeps none."""

    def note(self, name: str, value: Any) -> None:
        """Save a dataclass under a name."""

    def recall(self, name: str, kind: type[Note]) -> Note | None:
        """Return the dataclass of a name, None if there is none."""
        return None

    @property
    def has_begun(self) -> bool:
        """Whether there is something to go on from."""
        return False

    def begin(self, part: str) -> None:
        """Tell which part of the fit comes now."""

    def remaining(self, stages: list[Loss]) -> list[Loss]:
        """Return the stages of the part that are not done."""
        return stages

    def is_at(self, stage: Loss) -> bool:
        """Tell whether there is a state of a stage to go on from."""
        return False

    def watch(self, stage: Loss, terms: Terms, callbacks: Sequence[Callback]) -> list[Callback]:
        """Return the callbacks that a stage is to have."""
        return list(callbacks)

    def state(
        self, stage: Loss, solver: Solver | DualFirst, terms: Terms, reached: np.ndarray
    ) -> Any:
        """Return the state that a stage goes on from, None if it has not begun.

        Parameters are the classes' and those of the cells `reached`, ascending, of each class.
        """
        return None

    def close(self) -> None:
        """Delete what was kept: the fit came to its end."""


NO_JOURNAL = Journal()


class KeptJournal(Journal):
    """The journal of a fit that can be gone on with.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where it is kept.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._found: Saved | None = checkpoint.load()
        self._problem: dict[str, Any] = {}
        self._notes: dict[str, Any] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._part = ""
        self._position: Position | None = None
        self._state: Any = None  # what is left to go on from, packed
        self._cost: float | None = None
        self._last = perf_counter()
        self._failed = False

    def open(self, problem: Mapping[str, Any]) -> None:
        """Take over what the checkpoint holds; CheckpointError if it is of another problem.

        `problem` is JSON that tells fits apart.
        """
        self._problem = dict(problem)
        found, self._found = self._found, None
        if found is None:
            return
        content, self._arrays = found
        if content.get("problem") != self._problem:
            raise CheckpointError(
                f"The checkpoint in {str(self._checkpoint.folder)!r} is of another fit: it has "
                f"{describe_difference(content.get('problem'), self._problem)}. Take another "
                "folder, or delete this one to start afresh."
            )
        match content:
            case {"notes": dict(notes), "position": position, "state": state}:
                self._notes, self._state = notes, state
            case _:
                raise self._refusal("its parts")
        if state is not None:
            self._position = self._unpack(Position, position)

    @property
    def has_begun(self) -> bool:
        """Whether there is something to go on from."""
        return self._state is not None or bool(self._notes)

    def note(self, name: str, value: Any) -> None:
        """Save a dataclass under a name, at once; the state of what came before is done with."""
        self._notes[name] = pack(value, f"note.{name}", self._arrays)
        self._position = self._state = None
        self._save(None)

    def recall(self, name: str, kind: type[Note]) -> Note | None:
        """Return the dataclass of a name, None if there is none."""
        if name not in self._notes:
            return None
        return self._unpack(kind, self._notes[name])

    def begin(self, part: str) -> None:
        """Tell which part of the fit comes now."""
        self._part = part
        # What came before is noted, or soon done again: no reason to save the first iteration.
        self._last = perf_counter()

    def remaining(self, stages: list[Loss]) -> list[Loss]:
        """Return the stages from the one that the state is of."""
        names = [stage.name for stage in stages]
        position = self._position
        if position is None or position.part != self._part or position.stage not in names:
            return stages
        return stages[names.index(position.stage) :]

    def is_at(self, stage: Loss) -> bool:
        """Tell whether the state is of a stage of the part."""
        position = self._position
        if self._state is None or position is None:
            return False
        return (position.part, position.stage) == (self._part, stage.name)

    def watch(self, stage: Loss, terms: Terms, callbacks: Sequence[Callback]) -> list[Callback]:
        """Return a callback that saves: where one of the others stops the fit, and now and then."""
        position = Position(self._part, stage.name, terms.members)

        def watch(progress: Progress) -> bool:
            stops = [callback(progress) for callback in callbacks]
            state = progress.state()
            if any(stops) or perf_counter() >= self._last + self._seconds(state) / SHARE:
                began = perf_counter()
                self._position = position
                self._save(state)
                self._cost = perf_counter() - began
            return any(stops)

        return [watch]

    def state(
        self, stage: Loss, solver: Solver | DualFirst, terms: Terms, reached: np.ndarray
    ) -> Any:
        """Return the state that was saved, in the order of this plan's parameters."""
        position = self._position
        if position is None or not self.is_at(stage):
            return None
        kind: Any = getattr(solver, "state_type", State)
        state, self._state = self._unpack(kind, self._state), None
        # The notes alone stay: the solver takes over the arrays of the state.
        self._arrays = {n: a for n, a in self._arrays.items() if n.startswith("note.")}
        try:
            arrangement = Arrangement(position.members, terms)
            if not arrangement.is_same:
                if not kind.along_parameters:
                    return None
                for name in kind.along_parameters:
                    arrangement.move(getattr(state, name), reached)
            return state.with_history(solver.history) if isinstance(solver, LBFGS) else state
        except ValueError as error:
            raise self._refusal(error) from None

    def close(self) -> None:
        """Delete the checkpoint."""
        self._checkpoint.clear()

    def _seconds(self, state: Any) -> float:
        """Return what a save takes."""
        if self._cost is not None:
            return self._cost
        size = sum(part.nbytes for part in vars(state).values() if isinstance(part, np.ndarray))
        return LEAST_SECONDS + size / SPEED

    def _save(self, state: Any) -> None:
        """Write a version; where that fails, the fit goes on all the same."""
        arrays = dict(self._arrays)
        content = {
            "problem": self._problem,
            "notes": self._notes,
            "position": pack(self._position, "position", arrays),
            "state": pack(state, "state", arrays),
        }
        try:
            self._checkpoint.save(content, arrays)
        except OSError as error:
            if not self._failed:
                warnings.warn(
                    f"The checkpoint in {str(self._checkpoint.folder)!r} cannot be written "
                    f"({error}); the fit goes on, and the one before it stays.",
                    UserWarning,
                    stacklevel=2,
                )
            self._failed = True
        self._last = perf_counter()

    def _unpack(self, kind: type[Note], data: Any) -> Note:
        try:
            return unpack(kind, data, self._arrays)
        except (ValueError, TypeError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: object) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint in {str(self._checkpoint.folder)!r} holds what no fit writes "
            f"({error!s:.200}). Take another folder, or delete this one to start afresh."
        )


# Parts of a problem that mean nothing to people.
_ABOUT_ROWS = ("values", "attributes", "data")


def describe_difference(theirs: Any, ours: Mapping[str, Any]) -> str:
    """Return in words in what two problems differ."""
    if not isinstance(theirs, dict):
        return "no problem of this kind"
    for name, value in ours.items():
        other = theirs.get(name)
        if isinstance(value, dict) and isinstance(other, dict) and value != other:
            return describe_difference(other, value)
        if other != value and name in _ABOUT_ROWS:
            return "other rows, labels or weights"
        if other != value:
            return f"{name}={other!r:.60}, not {value!r:.60}"
    return "more parts"
