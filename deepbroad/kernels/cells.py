"""Move parameters into the cells that tables are built from, and gradients out of them.

Parameters belong to the cells that training rows reach, one per class; cells carry scores relative
to class 0 (see `softmax`), padded to the vector width.

No loop both sums and writes: LLVM vectorises such a loop only where the arrays are seen not to
overlap, which depends on where they lie in memory, and with it the rounding of the sum.
"""

import numpy as np

from deepbroad.kernels.jit import jit

# Cells whose penalty is one sum, whatever the number of threads.
CHUNK = 4096


@jit
def place_cells(first, last, reached, scale, parameters, cells, width):
    """Write s·u of class c less s·u of class 0 into the reached cells numbered first..last."""
    n_classes = parameters.shape[1]
    for i in range(first, last):
        base = np.int64(reached[i]) * width
        zero = scale[i, 0] * parameters[i, 0]
        for c in range(1, n_classes):
            cells[base + c - 1] = scale[i, c] * parameters[i, c] - zero


@jit
def collect_cells(first, last, reached, scale, cells, gradient, width):
    """Write the gradient with respect to u: s times the cell's, class 0 taking less the sum."""
    n_classes = gradient.shape[1]
    for i in range(first, last):
        base = np.int64(reached[i]) * width
        zero = 0.0
        for c in range(1, n_classes):
            zero -= np.float64(cells[base + c - 1])
        gradient[i, 0] = scale[i, 0] * zero
        for c in range(1, n_classes):
            gradient[i, c] = scale[i, c] * np.float64(cells[base + c - 1])


@jit
def penalise_cells(first, last, parameters, target, strength, total, gradient, penalties):
    """Make the gradient of the loss that of F, and write ½ Σ λ (u - t)² of each chunk of cells.

    `target` and `strength` are (n_cells, C), most often one number broadcast; first is a multiple
    of `CHUNK`.
    """
    for low in range(first, last, CHUNK):
        penalty = 0.0
        for i in range(low, min(low + CHUNK, last)):
            for c in range(parameters.shape[1]):
                pull = parameters[i, c] - target[i, c]
                penalty += strength[i, c] * pull * pull
            for c in range(parameters.shape[1]):
                push = strength[i, c] * (parameters[i, c] - target[i, c])
                gradient[i, c] = (gradient[i, c] + push) / total
        penalties[low // CHUNK] = 0.5 * penalty
