"""A training table on its way to a fit: coded, then planned."""

from dataclasses import dataclass, replace
from typing import Any

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.narrowing import narrow_part
from deepbroad.data.source import Source
from deepbroad.engine.journal import NO_JOURNAL, Journal
from deepbroad.engine.provision import Provision
from deepbroad.kernels.threads import Threads
from deepbroad.model.plan import Plan
from deepbroad.model.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Coded:
    """A training table in codes, and what its terms may be chosen by.

    Attributes
    ----------
    source : Source
        Identical rows are not merged yet.
    encoding : Encoding
    depth : int
        How many columns a tuple joins.
    limit : float
        Bytes that the fit may take.
    searches : bool
        Whether a model that is chosen by trial is to be; an estimate takes what it would begin
        with.
    threads : Threads
    is_stream : bool
        Whether more rows will come, batch by batch.
    """

    source: Source
    encoding: Encoding
    depth: int
    limit: float
    searches: bool
    threads: Threads
    is_stream: bool = False

    def with_recipe(self, recipe: Recipe) -> "Coded":
        """Return the table in the code columns that a recipe has."""
        encoding, narrowing = self.encoding.narrowed(recipe.edges)
        if narrowing.is_identity:
            return replace(self, depth=recipe.depth)
        source = self.source.convert(narrow_part, narrowing, threads=self.threads)
        return replace(self, source=source, encoding=encoding, depth=recipe.depth)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training table encoded and planned."""

    labels: Labels
    encoding: Encoding
    source: Source
    provision: Provision
    depth: int
    structure: Any = None  # what the terms were chosen by, in models that learn a structure
    journal: Journal = NO_JOURNAL  # where the fit goes on from

    @property
    def plan(self) -> Plan:
        """The plan of the fit."""
        if self.provision.plan is None:
            raise AssertionError("a fit has a plan: without one the provision was refused")
        return self.provision.plan
