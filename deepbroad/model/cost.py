"""What a pass costs: look-ups by table size, building tables, softmax, the solver's vectors.

All numbers are nanoseconds of one thread. The defaults are those of a typical machine;
`engine.calibration` measures them on the one at hand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deepbroad.kernels.lookup import TILE

# To be raised whenever a number below or its meaning changes: older measurements are not read.
VERSION = 4
LINE = 64  # bytes that a cache moves at once
# Where the curves are measured.
TABLE_BYTES = (1 << 16, 1 << 20, 1 << 23, 1 << 25, 1 << 26)  # all tables together
ENTRY_BYTES = (4, 32)  # one table entry
SCORES = (1, 8)
PARAMETERS = (1 << 13, 1 << 16, 1 << 19)
# A softmax in double precision, and a single one of rows that are longer than a vector, which are
# transposed with a stride: ratios are much the same everywhere, and compiling takes seconds.
DOUBLE_SOFTMAX = 4.0
LONG_ROWS = 1.75
VECTOR = 16
# Entries beyond the largest measured take longer by this power of their size where tables are near;
# where they are far, in proportion to it.
WIDE = 0.75


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of one thread for each kind of work, forward and back together.

    Attributes
    ----------
    lookups : tuple of tuples
        One look-up, by ENTRY_BYTES and then by TABLE_BYTES.
    step, run, number, cleared : float
        Building tables: one step of the program, one run of contiguous numbers, each number
        written, and each number of a cell set to zero before it takes its sum.
    softmaxes : tuple
        Loss and residuals of one row, by SCORES.
    parameters : tuple
        What the solver, the penalty and the moves between parameters and cells take per parameter
        and evaluation, by PARAMETERS.
    evaluation, hand_over : float
        Fixed time of one evaluation, and of handing work to threads once.
    """

    lookups: tuple[tuple[float, ...], ...]
    step: float
    run: float
    number: float
    cleared: float
    softmaxes: tuple[float, ...]
    parameters: tuple[float, ...]
    evaluation: float
    hand_over: float

    def lookup(
        self, entries: ArrayLike, width: int, *, tables: float = 1.0, item: int = 4
    ) -> np.ndarray:
        """Return the nanoseconds of one look-up in `tables` tables with so many entries in all.

        Between two measured sizes the logarithm decides, so that the planner sees no cliffs. A
        tile of rows comes back to the lines of a small table, so it waits for each of them once,
        however large all tables together are.
        """
        entry = width * item
        size = np.asarray(entries, float) * entry
        curve = [_along(ENTRY_BYTES, column, entry) for column in zip(*self.lookups, strict=True)]
        near = curve[0] * max(1.0, entry / ENTRY_BYTES[-1]) ** (WIDE - 1.0)
        far = np.interp(np.log(np.maximum(size, 1.0)), np.log(TABLE_BYTES), curve)
        # Lines that TILE rows read of a table, per line read: n(1 - exp(-k/n))/k of n lines.
        reads = TILE * max(1.0, entry / LINE)
        fullness = reads / np.maximum(size / (tables * LINE), 1.0)
        return near + (far - near) * -np.expm1(-fullness) / fullness

    def build(
        self,
        items: ArrayLike,
        width: int,
        *,
        cells: float = 0.0,
        runs: ArrayLike = 0.0,
        steps: int = 0,
    ) -> np.ndarray:
        """Return the nanoseconds to stream so many table items, `cells` of them sums of others."""
        numbers = self.number * np.asarray(items, float) + self.cleared * cells
        return numbers * width + self.run * np.asarray(runs, float) + self.step * steps

    def softmax(self, n_scores: int, *, item: int = 4) -> float:
        """Return the nanoseconds of one row's loss and residuals."""
        factor = DOUBLE_SOFTMAX if item == 8 else LONG_ROWS if n_scores > VECTOR else 1.0
        return factor * _along(SCORES, self.softmaxes, n_scores)

    def vectors(self, parameters: float) -> float:
        """Return the nanoseconds per evaluation that grow with the number of parameters."""
        each = np.interp(np.log(max(parameters, 1.0)), np.log(PARAMETERS), self.parameters)
        return float(each * parameters)


def _along(places: tuple[int, ...], values: tuple[float, ...], at: float) -> float:
    """Interpolate between measured places; beyond the last one, in proportion to it."""
    return float(np.interp(at, places, values)) * max(1.0, at / places[-1])


# Measured on two cores of an AMD EPYC (Zen 3) by `engine.calibration`.
TYPICAL = Costs(
    lookups=(
        (2.8, 3.8, 7.0, 18.0, 22.0),
        (3.0, 4.2, 8.0, 20.0, 26.0),
    ),
    step=40.0,
    run=5.5,
    number=0.8,
    cleared=0.75,
    softmaxes=(10.5, 22.0),
    parameters=(25.0, 38.0, 45.0),
    evaluation=180e3,
    hand_over=25e3,
)
