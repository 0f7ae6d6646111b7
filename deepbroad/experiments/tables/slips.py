"""The slips in the paper's own numbers."""

from deepbroad.experiments.published import slips
from deepbroad.experiments.tables.table import Table


def tabulate_slips() -> Table:
    """List what the paper prints and what its other numbers say."""
    return Table(("where", "printed", "what it must be"), [tuple(slip) for slip in slips()])
