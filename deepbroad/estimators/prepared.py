"""A training table that is ready to be fitted."""

from dataclasses import dataclass
from typing import Any

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.source import ArraySource
from deepbroad.engine.provision import Provision
from deepbroad.model.plan import Plan


@dataclass(frozen=True, eq=False)
class Prepared:
    """A training table encoded and planned."""

    labels: Labels
    encoding: Encoding
    source: ArraySource
    provision: Provision
    depth: int
    structure: Any = None  # what the terms were chosen by, in models that learn a structure

    @property
    def plan(self) -> Plan:
        """The plan of the fit."""
        if self.provision.plan is None:
            raise AssertionError("a fit has a plan: without one the provision was refused")
        return self.provision.plan
