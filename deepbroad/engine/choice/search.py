"""The search: one order of interactions after the other, as long as held-out rows gain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from deepbroad.engine.choice.cell_fits import CellFits
from deepbroad.engine.choice.counting import held_losses_by_counts
from deepbroad.engine.choice.dealing import VECTOR, DealtRows
from deepbroad.engine.choice.fits import Fits, HeldLosses
from deepbroad.engine.choice.row_fits import RowFits
from deepbroad.engine.choice.screening import keep, screen
from deepbroad.engine.choice.settings import Settings
from deepbroad.engine.choice.strengths import Tuned, Tuning, first_strengths, is_better
from deepbroad.engine.choice.tables import SHIFTS, Candidates, features_of, list_keys
from deepbroad.engine.row_newton import FEW_ROWS
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import LevelledTerms

# Cells of a candidate table for each row at most: beyond, rows are too few to fill them.
MOST_CELLS = 1

# Takes what is being tried, the best held-out loss so far, and the share of the work that is done.
Progress = Callable[[str, float | None, float], None]


def be_silent(what: str, loss: float | None, share: float) -> None:
    """Show nothing."""


@dataclass(frozen=True, eq=False)
class Model:
    """Tables under fits to all folds.

    `present` (n_tables, K) says which tables the model of each fold has, and `final` (n_tables,)
    which the model of all rows will have. `trial` is its record in the account.
    """

    tables: LevelledTerms
    present: np.ndarray
    final: np.ndarray
    fits: Fits
    tuned: Tuned
    trial: dict[str, Any]


@dataclass
class Search:
    """Finds the tables of a model.

    Parameters
    ----------
    rows : DealtRows
    settings : Settings
    depth : int
        The deepest order that is tried.
    forced : bool
        Whether the model must have tables of that depth.
    exact : bool
        Whether it has tables of that depth alone.
    among : mapping from order to ndarray, optional
        Tuples of features that tables may have; all of them are in the model then.
    time_limit : float
        Seconds after which nothing new is tried.
    """

    rows: DealtRows
    settings: Settings
    depth: int
    seed: int
    threads: Threads
    forced: bool = False
    exact: bool = False
    among: Mapping[int, np.ndarray] | None = None
    time_limit: float = inf
    progress: Progress = be_silent
    trials: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        source = self.rows.source
        trained = self.rows.total * (1.0 - 1.0 / self.rows.n_folds)
        # In the space of rows tables take next to no time.
        searched = SHIFTS if self._has_few_rows else ()
        self.candidates = Candidates(
            source.attributes, source.cardinalities, trained, shifted=self.settings.shifted,
            searched=searched,
        )  # fmt: skip
        self.depth = min(self.depth, self.candidates.n_features)
        self._deadline = perf_counter() + self.time_limit
        self._draws = np.random.default_rng(self.seed).random(source.n_rows)
        self.was_late = False

    @property
    def _has_few_rows(self) -> bool:
        return self.rows.source.n_rows <= FEW_ROWS

    def is_late(self) -> bool:
        """Tell whether nothing new is to be tried, and remember it."""
        late = perf_counter() > self._deadline
        self.was_late |= late
        return late

    def run(self) -> Model:
        """Return the best model."""
        first = self.depth if self.exact else 1
        self._report(first, first, None)
        best = self._weigh(self._tune(self._list_first(first), None, first))
        kept = self._rank_features(best)
        for order in range(first + 1, self.depth + 1):
            if self.is_late():
                break
            self._report(order, first, best.tuned.losses.plain)
            found, kept = self._deepen(best, order, kept)
            if found is None:
                continue
            must = self.forced and order == self.depth
            if must or self.among is not None or self._is_better(found, best):
                best = found
                best.trial["taken"] = True
            # The folds of what is not the best are not to lie beside the next ones.
            del found
        return self._prune(
            self._weigh(best) if best.tables.terms.members.shape[1] > first else best
        )

    def _weigh(self, best: Model) -> Model:
        """Return the model with the strengths that the evidence gives, where these are better."""
        if self.is_late():
            return best
        tuning = Tuning(best.fits, best.tables, self.settings, self._draws, self.is_late)
        tuned = tuning.weigh(best.tuned)
        best.trial["loss"] = tuned.losses.plain
        return replace(best, tuned=tuned)

    def _rank_features(self, best: Model) -> Sequence[tuple[int, ...]]:
        """Return the features, those that tell most first."""
        best.fits.point = best.tuned.point
        told = np.zeros(self.candidates.n_features)
        owners = features_of(best.tables)[:, 0]
        np.add.at(told, owners, best.fits.variances().sum(axis=1))
        return [(int(f),) for f in np.argsort(-told, kind="stable")]

    def _report(self, order: int, first: int, loss: float | None) -> None:
        """Show which order is tried; orders take about as long as each other."""
        what = "single features" if order == 1 else f"interactions of {order} features"
        self.progress(what, loss, (order - first) / (self.depth - first + 1))

    def run_exact(self) -> Model:
        """Return the best model of tables of one order alone, whichever order that is."""
        deepest, best = self.depth, None
        for depth in range(1, deepest + 1):
            if best is not None and self.is_late():
                break
            self.depth = depth
            found = self.run()
            is_taken = best is None or self._is_better(found, best)
            found.trial["taken"] = is_taken
            if best is not None and is_taken:
                best.trial["taken"] = False
            best = found if is_taken else best
            # The folds of what is not the best are not to lie beside the next ones.
            del found
        assert best is not None, "there is a feature"
        return best

    def _list_first(self, order: int) -> LevelledTerms:
        """Return the tables that every model has: those of the first order."""
        tables = self.candidates.unshifted(self._tuples(order, None))
        if not len(tables.terms):
            return self.candidates.first_feature()
        return self.candidates.with_shifts(tables)

    def _tuples(self, order: int, kept: Sequence[tuple[int, ...]] | None) -> np.ndarray:
        if self.among is not None:
            return self.among.get(order, np.empty((0, order), np.int64))
        most = self.settings.candidates
        return self.candidates.tuples(order, most, kept)

    def _deepen(
        self, best: Model, order: int, kept: Sequence[tuple[int, ...]]
    ) -> tuple[Model | None, Sequence[tuple[int, ...]]]:
        """Return the model with tables of one order more, and the tuples to extend next."""
        tables = self.candidates.unshifted(self._tuples(order, kept))
        rows = self.rows.source.n_rows
        fits = tables.terms.spaces <= MOST_CELLS * max(rows, 1024)
        tables = self.candidates.take(tables, np.flatnonzero(fits))
        if not len(tables.terms):
            return None, []
        present, final, kept = self._screen(best, tables)
        used = present.any(axis=1) | final
        if not used.any():
            self._note(order, 0, None)
            return None, kept
        chosen = np.flatnonzero(used)
        marks = np.column_stack([present, final])[chosen]
        with_shifts = self.candidates.with_shifts(self.candidates.take(tables, chosen))
        marks = self._spread(self.candidates.take(tables, chosen), marks, with_shifts)
        return self._tune(with_shifts, best, order, marks), kept

    def _screen(
        self, best: Model, tables: LevelledTerms
    ) -> tuple[np.ndarray, np.ndarray, Sequence[tuple[int, ...]]]:
        """Return which tables each fold has, which all rows will have, and the best tuples."""
        settings, features = self.settings, features_of(tables)
        # Rows of many scores take as much longer as they have vectors of them.
        lanes = self.rows.n_folds * (self.rows.source.n_classes - 1)
        count = len(self.candidates.with_shifts(tables).terms)
        work = float(self.rows.source.n_rows) * count * max(1.0, lanes / VECTOR)
        if self.among is not None or work <= settings.unscreened:
            every = np.ones(len(features), bool)
            present = np.ones((len(features), self.rows.n_folds), bool)
            return present, every, [tuple(f) for f in np.unique(features, axis=0).tolist()]
        best.fits.point = best.tuned.point
        shown = screen(best.fits, tables, self.seed)
        share, most = settings.false_share, settings.kept
        final = keep(shown.all_folds, shown.chance, share, most)
        if self.forced and not final.any():
            final[np.argmax(shown.all_folds)] = True
        present = np.column_stack([keep(z, shown.chance, share, most) for z in shown.without])
        order = np.argsort(-shown.all_folds, kind="stable")
        ranked = [tuple(features[t].tolist()) for t in order if final[t]]
        return present, final, list(dict.fromkeys(ranked))

    def _spread(
        self, tables: LevelledTerms, marks: np.ndarray, with_shifts: LevelledTerms
    ) -> np.ndarray:
        """Return the marks of tables for these and their shifted copies."""
        known = dict(zip(list_keys(tables), marks, strict=True))
        return np.array([known[key] for key in list_keys(with_shifts)])

    def _tune(
        self, new: LevelledTerms, lower: Model | None, order: int, marks: np.ndarray | None = None
    ) -> Model:
        """Return the model with new tables beside those of a lower one, its strengths tuned."""
        strength = first_strengths(new, self._begin(lower))
        folds = self.rows.n_folds
        if marks is None:
            marks = np.ones((len(new.terms), folds + 1), bool)
        present, final = marks[:, :folds], marks[:, folds]
        tables = new
        if lower is not None:
            tables = self.candidates.join(lower.tables, new)
            strength = np.concatenate([lower.tuned.strength, strength])
            present = np.concatenate([lower.present, present])
            final = np.concatenate([lower.final, final])
        fits = self._make_fits(tables, present)
        if lower is not None:
            lower.fits.point = lower.tuned.point
            fits.carry(lower.fits)
        scaled = tables.terms.orders == order
        tuning = Tuning(fits, tables, self.settings, self._draws, self.is_late)
        tuned = tuning.run(strength, scaled, inf if lower is None else lower.tuned.loss)
        trial = self._note(order, len(new.terms), tuned.losses.plain)
        return Model(tables, present, final, fits, tuned, trial)

    def _begin(self, lower: Model | None) -> float:
        """Return the variance of scores that tables of a new order begin with.

        Interactions may tell next to nothing, or more than what the order below tells: they begin
        in the middle, on a scale of factors.
        """
        if lower is None:
            return self.settings.start
        orders = lower.tables.terms.orders
        variances = np.where(orders == orders.max(), 1.0 / lower.tuned.strength, 0.0)
        return float(np.sqrt((variances * lower.present.mean(axis=1)).sum()))

    def _make_fits(self, tables: LevelledTerms, present: np.ndarray) -> Fits:
        """Return fits in the space of rows where these are few, else of cells."""
        if self._has_few_rows:
            return RowFits(self.rows, tables.terms, present, self.threads)
        return CellFits(self.rows, tables.terms, present, self.threads)

    def _note(self, order: int, tables: int, loss: float | None) -> dict[str, Any]:
        """Keep what was tried, and return its record."""
        taken = not self.trials
        self.trials.append({"order": order, "tables": tables, "loss": loss, "taken": taken})
        return self.trials[-1]

    def _is_better(self, found: Model, best: Model) -> bool:
        """Tell whether held-out rows gain more than chance would give."""
        return is_better(found.tuned.losses, best.tuned.losses, self.settings)

    def prefers_counts(self, best: Model, counted: LevelledTerms, smoothing: float) -> bool:
        """Tell whether held-out rows gain where cells score by their counts."""
        found = held_losses_by_counts(
            self.rows, counted, smoothing=smoothing, seed=self.seed, threads=self.threads
        )
        if found is None:
            return False
        best.fits.point = best.tuned.point
        # Losses by counts come without margins, so that neither side has doubt.
        before = HeldLosses.of(best.fits.losses[:, :1], self.rows.held[:, :1])
        trial = self._note(int(counted.terms.orders.max()), len(counted.terms), found.mean)
        taken = is_better(found, before, self.settings)
        trial |= {"by_counts": True, "taken": taken}
        return taken

    def _prune(self, best: Model) -> Model:
        """Return the model without its weakest tables if held-out rows lose next to nothing.

        Each fold leaves out what is weak in its own model, which has not seen its held-out rows.
        """
        fits, tuned, share = best.fits, best.tuned, self.settings.share
        fits.point = tuned.point
        variances = fits.variances()
        present = np.column_stack([select_strong(each, share) for each in variances.T])
        final = select_strong(variances.mean(axis=1) * best.final, share)
        if self.forced:
            # A depth that was asked for stays, however little it tells.
            is_asked = best.tables.terms.orders == self.depth
            present, final = present | is_asked[:, None], final | is_asked
        if final[best.final].all() or self.is_late():
            return best
        fits.present = best.present & present
        losses = fits.minimise(tuned.strength)
        if losses.mean > tuned.loss * (1.0 + self.settings.gain):
            fits.present, fits.point = best.present, tuned.point
            return best
        tuned = Tuned(tuned.strength, losses, fits.point)
        best.trial["loss"] = losses.plain
        return Model(best.tables, fits.present, best.final & final, fits, tuned, best.trial)


def select_strong(variances: np.ndarray, share: float) -> np.ndarray:
    """Return the fewest tables that have a share of the variance of all."""
    order = np.argsort(-variances, kind="stable")
    total = np.cumsum(variances[order])
    count = int(np.searchsorted(total, share * total[-1])) + 1
    strong = np.zeros(len(variances), bool)
    strong[order[:count]] = True
    return strong
