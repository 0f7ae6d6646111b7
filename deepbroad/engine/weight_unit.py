"""An automatic choice whose result does not depend on the unit that weights of rows are given in.

Strengths are searched for where they usually lie when a row weighs about 1, and so are the limits
of that search. Weights of another magnitude are brought to it, and the strengths back from it.
"""

from dataclasses import replace
from math import log10
from typing import Any

import numpy as np

from deepbroad.data.source import ArraySource, Source
from deepbroad.engine.automatic import Automatic
from deepbroad.engine.old_choice import Choice
from deepbroad.engine.scatter import Whole
from deepbroad.engine.strength_search import Trial
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family


def choose_model(
    source: Source,
    family: Family,
    *,
    smoothing: float,
    min_count: float,
    threads: Threads,
    **settings: Any,
) -> Choice:
    """Return what `Automatic`, which has the same parameters, chooses for rows of any weights."""
    unit = weight_unit(source, threads)
    if unit != 1.0:
        source = source.convert(divide_weights, unit, threads=threads)
    choice = Automatic(
        source,
        family,
        smoothing=smoothing / unit,
        # Up to 1 it leaves no joint value out, whatever it weighs.
        min_count=max(min_count / unit, 1.0) if min_count > 1 else min_count,
        threads=threads,
        **settings,
    ).choose()
    return choice if unit == 1.0 else in_weights(choice, unit)


def weight_unit(source: Source, threads: Threads) -> float:
    """Return the power of ten nearest to the mean weight of rows."""
    if not source.is_weighted:
        return 1.0
    mean = Whole.of(source, threads).weight / max(source.n_weighted, 1)
    return float(10.0 ** round(log10(mean))) if mean > 0.0 else 1.0


def divide_weights(part: ArraySource, unit: float, threads: Threads) -> ArraySource:
    """Return a part whose rows weigh less by a factor; its codes are shared."""
    weights = np.ones(part.n_rows) if part.weights is None else part.weights
    return ArraySource(
        part.codes,
        part.labels,
        n_classes=part.n_classes,
        cardinalities=part.cardinalities,
        weights=weights / unit,
        items=part.items,
        n_given=part.n_given,
        attributes=part.attributes,
        store=part.store,
    )


def in_weights(choice: Choice, unit: float) -> Choice:
    """Return a choice whose strengths are of the weights as they were given."""

    def convert(trial: Trial) -> Trial:
        by_order = tuple(unit * strength for strength in trial.strengths.by_order)
        return replace(trial, strengths=replace(trial.strengths, by_order=by_order))

    return replace(
        choice,
        strength=unit * choice.strength,
        best=convert(choice.best),
        trials=[convert(trial) for trial in choice.trials],
    )
