"""The trial that tells whether numbers are to have cuts by the class beside their nested bins."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deepbroad.engine.depth_search import DepthSearch, Found
from deepbroad.engine.sharpening import sharpen_without
from deepbroad.model.strengths import Strengths

# Of several folds, those that are held out: the others tell where to cut.
SHARP_FOLDS = 2
# Share by which the loss must be lower with cuts by the class. Where that means to hold out fewer
# rows, it must be by as much as chance makes of them (abalone); else they may be a little worse,
# since single numbers do not show what they gain in tuples (sign).
WORTH_FOLDS = 0.01
WORTH_CUTTING = -0.005


class SharpTrial(NamedTuple):
    """How models of one depth fare with and without cuts by the class.

    Attributes
    ----------
    search : DepthSearch
        What to go on with.
    found : Found or None
        What it found at that depth; None if it is to be searched again, by all folds.
    tried : list of Found
        What both found.
    """

    search: DepthSearch
    found: Found | None
    tried: list[Found]


def try_cuts(search: DepthSearch, depth: int, start: Strengths, *, least: int) -> SharpTrial:
    """Search at a depth with and without cuts by the class, and return how to go on.

    Both are judged by rows that told nothing about the cuts. Where there is no memory for them at
    the depth that the model is to have at `least`, nothing is tried; where time is up after the
    search without cuts, there is none with them.
    """
    held = search.held[:SHARP_FOLDS]
    sharp = sharpen_without(search.sample, np.concatenate(held), search.threads)
    informed = replace(search, sample=sharp, held=held, by_class=True)
    try:
        informed.check_memory(least)
    except MemoryError:
        return SharpTrial(search, None, [])
    plain = search if len(held) == len(search.held) else replace(search, held=held)
    without = plain.run(depth, start, {}, forced=True)
    if not isinstance(without, Found):
        raise AssertionError("a search that is forced finds something")
    if plain.is_late:
        search.go_on_from(plain)
        return SharpTrial(search, without if plain is search else None, [without])
    informed.go_on_from(plain)
    within = informed.run(depth, start, {}, forced=True)
    if not isinstance(within, Found):
        raise AssertionError("a search that is forced finds something")
    tried = [without, within]
    if within.gain_over(without) > (WORTH_CUTTING if plain is search else WORTH_FOLDS):
        return SharpTrial(informed, within, tried)
    search.go_on_from(informed)
    return SharpTrial(search, without if plain is search else None, tried)
