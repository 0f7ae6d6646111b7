"""Pictures of explanations. The only part of the library that knows matplotlib.

Every function returns a `matplotlib.figure.Figure`, which notebooks show and ``savefig`` writes;
none touches pyplot's state. ``explanation.plot()`` and ``rows.plot()`` find them here.
"""

from deepbroad.report.effect import plot_effect
from deepbroad.report.importances import plot_importances
from deepbroad.report.waterfall import plot_row

__all__ = ["plot_effect", "plot_importances", "plot_row"]
