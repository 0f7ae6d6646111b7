"""A training table on its way to a fit: coded, then planned."""

from dataclasses import dataclass, replace
from typing import Any

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.source import Source
from deepbroad.engine.footprint import code_bytes
from deepbroad.engine.indicators import join_part, unfold_tables
from deepbroad.engine.journal import NO_JOURNAL, Journal
from deepbroad.engine.provision import Provision
from deepbroad.kernels.threads import Threads
from deepbroad.model.indicators import Joining
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.unfolding import Unfolding


@dataclass(frozen=True, eq=False)
class Coded:
    """A training table in codes, and what its terms may be chosen by.

    Attributes
    ----------
    source : Source
        Identical rows are not merged yet. Indicators may have been joined into categories, which
        the encoding does not know of.
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

    def joined(self, joining: Joining) -> "Coded":
        """Return the table with indicators joined; the rows as given stay, and take their room."""
        given = self.source
        source = given.convert(join_part, joining, threads=self.threads)
        held = given.n_rows * len(given.cardinalities) * code_bytes(given.cardinalities)
        return replace(
            self,
            source=source,
            depth=min(self.depth, joining.n_attributes),
            limit=self.limit - held * given.resident,
        )


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
    joining: Joining | None = None  # how columns became those of the source and the plan
    given: Source | None = None  # the rows before that

    @property
    def plan(self) -> Plan:
        """The plan of the fit."""
        if self.provision.plan is None:
            raise AssertionError("a fit has a plan: without one the provision was refused")
        return self.provision.plan

    @property
    def rows(self) -> Source:
        """The rows in the code columns of the encoding."""
        return self.source if self.given is None else self.given

    @property
    def joined_names(self) -> list[list[str]]:
        """The names of the attributes that became one category, category by category."""
        return [] if self.joining is None else self.joining.joined_names(self.encoding.names)

    def unfold(self, tables: ScoreTables, threads: Threads) -> ScoreTables:
        """Return what a fit came to as tables of the code columns of the encoding."""
        if self.joining is None:
            return tables
        return unfold_tables(tables, self.joining, self.rows, threads)

    def fold(self, tables: ScoreTables) -> ScoreTables | None:
        """Return tables of the code columns of the encoding as those of the plan.

        None if the plan has other terms.
        """
        if self.joining is None:
            return tables.reordered(self.plan) if tables.has_terms_of(self.plan) else None
        return Unfolding(self.joining, self.plan.terms).fold(tables, self.plan)
