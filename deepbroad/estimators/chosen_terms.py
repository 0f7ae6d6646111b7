"""What makes a classifier's terms and strengths a choice: of depth, orders, bins and penalties."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deepbroad.engine.automatic import DEPTHS
from deepbroad.engine.old_choice import Choice
from deepbroad.engine.chosen import Chosen
from deepbroad.engine.indicators import find_indicators
from deepbroad.engine.listing import has_many_terms, list_terms
from deepbroad.engine.sharpening import sharpen
from deepbroad.engine.training import Training
from deepbroad.engine.weight_unit import choose_model, weight_unit
from deepbroad.estimators.parameters import (
    check_choice,
    check_depth,
    check_number,
    check_strengths,
    draw_seed,
    resolve_attributes,
)
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.estimators.selection import describe_choice, warn_of_copies, warn_of_time
from deepbroad.estimators.streamed_discriminative import StreamedDiscriminative
from deepbroad.model.family import Family
from deepbroad.model.indicators import Joining
from deepbroad.model.loss import LOG_LOSS
from deepbroad.model.resolutions import LevelledTerms, choose_levels
from deepbroad.model.strengths import Strengths
from deepbroad.model.terms import Terms


class ChosenTerms(StreamedDiscriminative):
    """Base of a classifier of one order or all up to a depth, its strengths given or chosen."""

    n: Any
    alpha: Any
    orders: str
    bins: str
    shrink_to: str
    smoothing: float
    terms: Any
    max_terms: int | None
    time_limit: float
    random_state: Any

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.alpha, str)

    @property
    def _is_plain(self) -> bool:
        """Whether nothing was asked for that scores by counts have not."""
        standard = self.loss == LOG_LOSS.name and self.solver == "auto"
        return standard and self.shrink_to == "zero" and not self.warm_start

    @property
    def _has_all_orders(self) -> bool:
        if self.orders == "auto":
            return self._is_automatic or isinstance(self.alpha, Sequence | np.ndarray)
        return self.orders == "all"

    def _check_parameters(self) -> None:
        # Before alpha, which goes by it.
        check_choice("orders", self.orders, ["auto", "all", "exact"])
        super()._check_parameters()
        check_choice("shrink_to", self.shrink_to, ["generative", "zero"])
        check_choice("bins", self.bins, ["auto", "nested", "mdl"])
        check_number("time_limit", self.time_limit, above=0.0, included=False)
        if isinstance(self.n, str):
            if self.n != "auto":
                raise ValueError(f'n must be an integer, or "auto"; got {self.n!r}.')
            if not self._is_automatic:
                raise ValueError('n="auto" goes with alpha="auto"; give n, or leave alpha.')
        plain = self.bins != "nested" and not self._has_all_orders and not self._is_automatic
        if self.max_terms is not None and not plain:
            raise ValueError(
                'max_terms goes with orders="exact", a number as alpha, and bins that are not '
                '"nested"; restrict other models with `terms`.'
            )

    def _check_alpha(self) -> None:
        if isinstance(self.alpha, str | Sequence | np.ndarray):
            check_strengths(self.alpha, self.n, all_orders=self._has_all_orders)
        else:
            super()._check_alpha()

    def _read_depth(self, n_features: int) -> int:
        if isinstance(self.n, str):
            return min(DEPTHS[-1], n_features)
        return check_depth(self.n, n_features)

    def _count_levels(self, n_rows: int) -> int:
        nested = self._has_all_orders if self.bins == "auto" else self.bins == "nested"
        return choose_levels(n_rows, 1)[0] if nested else 0

    def _sharpen(self, coded: Coded) -> Coded:
        # Tuples of one order alone have no back-off to bins that know nothing of the class.
        is_free = self._is_automatic and self._has_all_orders and self.bins == "auto"
        if not is_free or not coded.searches:
            return coded
        unit = weight_unit(coded.source, coded.threads)
        source, encoding = sharpen(coded.source, coded.encoding, unit, coded.threads)
        return replace(coded, source=source, encoding=encoding)

    def _find_joining(self, coded: Coded) -> Joining | None:
        # Tables unfold to the same scores where cells that no row reaches score 0.
        backs_off = self._is_automatic and self._has_all_orders and self.shrink_to == "zero"
        if not backs_off or self.terms is not None or self.min_count > 1:
            return None
        joining = find_indicators(coded.source, coded.threads)
        least = 2 if isinstance(self.n, str) else coded.depth
        return None if joining is None or joining.n_attributes < least else joining

    def _find_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        source, encoding, n = coded.source, coded.encoding, coded.depth
        plain = not self._has_all_orders and len(encoding.columns) == len(encoding.names)
        if plain and not self._is_automatic:
            return super()._find_terms(coded)
        exact = not self._has_all_orders
        among = resolve_attributes(self.terms, n, encoding.names, parts=not exact)
        if among is not None:
            n = max(order for order, tuples in among.items() if len(tuples))
        if not self._is_automatic or not coded.searches:
            while among is None and isinstance(self.n, str) and n > 1 and has_many_terms(source, n):
                n -= 1  # as the choice would
            levelled = list_terms(source, n, exact=exact, among=among, limit=coded.limit)
            return levelled.terms, levelled
        if (chosen := self._journal.recall("choice", Chosen)) is not None:
            depth = max(1, min(chosen.best.depth, n))
            levelled = list_terms(
                source, depth, exact=exact, among=chosen.among or among, tiled=chosen.tiled,
                by_class=chosen.best.by_class, limit=coded.limit,
            )  # fmt: skip
            restored = chosen.restore(levelled)
            if restored.is_cut_short:
                warn_of_time(restored, self.time_limit)
            return levelled.terms, restored
        choice = choose_model(
            source,
            self._unstrengthened(),
            depths=self._depths(n, all_tuples=among is None),
            least=1 if isinstance(self.n, str) and self.terms is None else n,
            exact=exact,
            among=among,
            counts=self._is_plain and not coded.is_stream,
            smoothing=float(self.smoothing),
            min_count=self._cell_count,
            memory_limit=coded.limit,
            time_limit=float(self.time_limit),
            history=self._history,
            seed=draw_seed(self.random_state),
            threads=coded.threads,
        )
        self._journal.note("choice", Chosen.of(choice))
        if choice.n_copies:
            warn_of_copies(choice)
        if choice.is_cut_short:
            warn_of_time(choice, self.time_limit)
        return choice.levelled.terms, choice

    def _depths(self, n: int, *, all_tuples: bool) -> Sequence[int]:
        """Return the depths that the choice goes through, the last of which may be given."""
        if isinstance(self.n, str) and all_tuples:
            return DEPTHS
        return range(1, n + 1) if self._has_all_orders and all_tuples else [n]

    def _unstrengthened(self) -> Family:
        """Return the family but for its strengths."""
        return Family(
            generative=True,
            strength=0.0,
            target=1.0 if self.shrink_to == "generative" else 0.0,
            by_score=self._is_automatic or self._has_all_orders,
            backs_off=self._has_all_orders,
        )

    def _family(self, training: Training, prepared: Prepared) -> Family:
        family = self._unstrengthened()
        match prepared.structure:
            case Choice() as choice:
                return family.shared_out(choice.levelled.shares, choice.strength)
            case LevelledTerms() as levelled:
                alpha = np.broadcast_to(np.asarray(self.alpha, np.float64), prepared.depth)
                strength = Strengths(tuple(alpha.tolist())).per_term(levelled)
                return family.shared_out(levelled.shares, strength)
        return replace(family, strength=float(self.alpha))

    def _describe_structure(self, prepared: Prepared) -> None:
        self.selection_ = None
        if isinstance(choice := prepared.structure, Choice):
            self.selection_ = describe_choice(choice, prepared.encoding, prepared.joined_names)
