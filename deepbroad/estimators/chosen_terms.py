"""What makes a classifier's terms and strengths a choice: of depth, orders, bins and penalties."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from deepbroad.data.cuts import Edges
from deepbroad.data.encoding import Encoding
from deepbroad.engine.choice import EFFORTS, choose
from deepbroad.engine.listing import has_many_terms, list_terms
from deepbroad.engine.training import Training
from deepbroad.estimators.parameters import (
    check_choice,
    check_depth,
    check_number,
    check_strengths,
    draw_seed,
    resolve_attributes,
)
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.estimators.selection import KeptChoice, Selection, Settled, warn_of
from deepbroad.estimators.streamed_discriminative import StreamedDiscriminative
from deepbroad.model.family import Family
from deepbroad.model.generative import evidence_shares
from deepbroad.model.loss import LOG_LOSS
from deepbroad.model.recipe import Recipe
from deepbroad.model.resolutions import LevelledTerms, choose_levels
from deepbroad.model.strengths import Strengths
from deepbroad.model.terms import Terms

# Parameters whose work a recipe does, and their defaults.
SETTLED = {
    "n": "auto",
    "alpha": "auto",
    "terms": None,
    "bins": "auto",
    "max_terms": None,
    "orders": "auto",
}


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
    time_limit: float | None
    effort: str
    recipe: Recipe | None
    random_state: Any

    recipe_: Recipe | None
    selection_: Selection | None

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
        check_choice("effort", self.effort, list(EFFORTS))
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0.0, included=False)
        self._check_recipe()
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

    def _check_recipe(self) -> None:
        """Raise ValueError for a recipe that is none, or beside what it has itself."""
        if self.recipe is None:
            return
        if not isinstance(self.recipe, Recipe):
            raise ValueError(
                f"recipe must be a deepbroad.Recipe or None, got {self.recipe!r:.80}. "
                "Recipe.from_json reads one from text."
            )
        given = [
            name
            for name, default in SETTLED.items()
            if not _is_default(getattr(self, name), default)
        ]
        if given:
            raise ValueError(
                f"A recipe has all of {', '.join(SETTLED)} in it; leave out {' and '.join(given)}, "
                "or the recipe."
            )

    def _check_alpha(self) -> None:
        if isinstance(self.alpha, str | Sequence | np.ndarray):
            check_strengths(self.alpha, self.n, all_orders=self._has_all_orders)
        else:
            super()._check_alpha()

    def _read_depth(self, n_features: int) -> int:
        if self.recipe is not None:
            return self.recipe.depth
        if isinstance(self.n, str):
            return min(EFFORTS[self.effort].orders, n_features)
        return check_depth(self.n, n_features)

    def _count_levels(self, n_rows: int) -> int:
        nested = self._has_all_orders if self.bins == "auto" else self.bins == "nested"
        return choose_levels(n_rows, 1)[0] if nested else 0

    def _given_edges(self, names: Sequence[str]) -> Edges | None:
        if self.recipe is None:
            return None
        self.recipe.check_names(names)
        return self.recipe.edges

    def _settle(self, coded: Coded) -> tuple[Coded, Terms | None, Any]:
        if self.recipe is None and not (self._is_automatic and coded.searches):
            return super()._settle(coded)
        self._open_journal(coded)
        recipe, selection = self.recipe, None
        if recipe is None:
            recipe, selection = self._find_recipe(coded)
            warn_of(selection)
        # From here on a recipe that was chosen and one that was given go the same way.
        coded = coded.with_recipe(recipe)
        members, strength = recipe.members(coded.encoding)
        terms = Terms(members, coded.encoding.cardinalities)
        shares = evidence_shares(terms, coded.encoding.attributes)
        return coded, terms, Settled(recipe, strength, shares, selection)

    def _choose_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        source, encoding, n = coded.source, coded.encoding, coded.depth
        plain = not self._has_all_orders and len(encoding.columns) == len(encoding.names)
        if plain and not self._is_automatic:
            return super()._choose_terms(coded)
        n, among = self._given_tuples(n, encoding)
        while among is None and isinstance(self.n, str) and n > 1 and has_many_terms(source, n):
            n -= 1  # as the choice would
        levelled = list_terms(
            source, n, exact=not self._has_all_orders, among=among, limit=coded.limit
        )
        return levelled.terms, levelled

    def _given_tuples(self, n: int, encoding: Encoding) -> tuple[int, dict[int, np.ndarray] | None]:
        """Return the depth, and the tuples of attributes that `terms` names by order."""
        among = resolve_attributes(self.terms, n, encoding.names, parts=self._has_all_orders)
        if among is not None:
            n = max(order for order, tuples in among.items() if len(tuples))
        return n, among

    def _find_recipe(self, coded: Coded) -> tuple[Recipe, Selection]:
        """Return the recipe that does best on held-out rows, and what was tried."""
        if (kept := self._journal.recall("choice", KeptChoice)) is not None:
            return kept.restore()
        n, among = self._given_tuples(coded.depth, coded.encoding)
        is_free = isinstance(self.n, str) and self.terms is None
        chosen = choose(
            coded.source,
            depth=None if is_free else n,
            exact=not self._has_all_orders,
            among=among,
            counts=self._is_plain and not coded.is_stream,
            smoothing=float(self.smoothing),
            settings=EFFORTS[self.effort],
            time_limit=inf if self.time_limit is None else float(self.time_limit),
            seed=draw_seed(self.random_state),
            threads=coded.threads,
            progress=self._progress(),
        )
        recipe = Recipe.of(coded.encoding, chosen.members, chosen.strength, chosen.by_counts)
        selection = Selection(chosen.selection)
        self._journal.note("choice", KeptChoice.of(recipe, selection))
        return recipe, selection

    def _progress(self) -> Callable[[str, float | None, float], None]:
        """Return what a choice reports to: what it tries, held-out loss, share of work done."""
        if self._watch is None:
            return lambda what, loss, share: None
        self._watch.begin_choice()
        return self._watch.note_trial

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
            case Settled(recipe=recipe) as settled:
                # Tables of one order alone have no others to back off to.
                family = replace(family, backs_off=len(recipe.orders) > 1)
                return family.shared_out(settled.shares, settled.strength)
            case LevelledTerms() as levelled:
                alpha = np.broadcast_to(np.asarray(self.alpha, np.float64), prepared.depth)
                strength = Strengths(tuple(alpha.tolist())).per_term(levelled)
                return family.shared_out(levelled.shares, strength)
        return replace(family, strength=float(self.alpha))

    def _scores_by_counts(self, prepared: Prepared) -> bool:
        return isinstance(prepared.structure, Settled) and prepared.structure.recipe.by_counts

    def _describe_structure(self, prepared: Prepared) -> None:
        self.recipe_, self.selection_ = None, None
        if isinstance(settled := prepared.structure, Settled):
            self.recipe_, self.selection_ = settled.recipe, settled.selection


def _is_default(value: Any, default: str | None) -> bool:
    """Tell whether a parameter is what it is unless it is given."""
    return value is None if default is None else isinstance(value, str) and value == default
