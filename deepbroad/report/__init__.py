"""Pictures of explanations, and reports. The only part of the library that knows matplotlib.

Every function that plots returns a `matplotlib.figure.Figure`, which notebooks show and ``savefig``
writes; none touches pyplot's state. ``explanation.plot()`` and ``rows.plot()`` find them here.
`write_report` writes a page that draws by itself, without matplotlib.
"""

from deepbroad.report.effect import plot_effect
from deepbroad.report.html_report import write_report
from deepbroad.report.importances import plot_importances
from deepbroad.report.waterfall import plot_row

__all__ = ["plot_effect", "plot_importances", "plot_row", "write_report"]
