"""Commands as a user types them, and a table to run them on."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from deepbroad.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments):
    """Run a command that must succeed, and return what it printed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def flatten(text):
    return " ".join(text.split())


def loans(n=300):
    """Return a table of two classes with numbers, texts, and words among numbers."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "cook", "none"], n),
            "zip": rng.integers(1, 5, n),
            "debt": [str(d) for d in rng.integers(0, 100, n)],
        }
    )
    table.loc[::9, "debt"] = "?"
    odd = rng.random(n) < np.where((table["job"] == "cook") & (table["age"] > 40), 0.9, 0.2)
    table["paid"] = np.where(odd, "no", "yes")
    return table
