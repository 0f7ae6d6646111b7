"""Arrays that a model shows but does not predict by."""

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to: what is written there would change no prediction."""
    view = array.view()
    view.flags.writeable = False
    return view
