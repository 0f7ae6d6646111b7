"""The automatic choice: which tables a model has, and how strongly each is penalised.

Coded rows come in; tables of code columns with a strength for each come out, with an account of
what was tried. Validation folds set the depth and the overall scale of the strengths, the evidence
(marginal likelihood) sets the strength of each table relative to the others, and interactions earn
their place by the residuals of rows that were not fitted.
"""

from deepbroad.engine.choice.choosing import Choice, choose
from deepbroad.engine.choice.settings import EFFORTS, Settings

__all__ = ["EFFORTS", "Choice", "Settings", "choose"]
