"""One effect: a curve over an attribute, or a heat map over a pair."""

from typing import TYPE_CHECKING, Any

from deepbroad.estimators.explanation import Explanation
from deepbroad.report.curve import draw_curve
from deepbroad.report.heat_map import draw_heat_maps

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_effect(explanation: Explanation, *attributes: str, label: Any = None) -> "Figure":
    """Draw the effect of one attribute or of a pair.

    Of one attribute, its effect on log odds over its values and, below, how frequent these are. Of
    a pair, a heat map for each class: red where the two together raise its log odds beyond what
    each does alone, blue where they lower them.

    Parameters
    ----------
    explanation : Explanation
        Of ``model.explain()``.
    *attributes : str
        Their names, one or two; the first of two runs down, the second across.
    label : class, optional
        The class to draw; by default the second of two classes, else up to six classes.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    table = explanation.tables[attributes]
    if len(attributes) == 1:
        return draw_curve(table, label)
    if len(attributes) == 2:
        return draw_heat_maps(table, label)
    raise ValueError(
        f"Effects of one or two attributes are drawn, not of {len(attributes)}; read "
        "`explanation.tables[...].to_arrow()` instead."
    )
