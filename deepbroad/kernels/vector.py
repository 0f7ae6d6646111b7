"""One vector addition across the class lanes of a table entry, which Numba does not find by itself.

LLVM's SLP vectoriser is off in Numba and two arrays may alias, so a plain loop over the classes
stays scalar. `add_lanes` emits a single vector load-add-store instead, 2 to 4 times faster.
The number of lanes must be known when a kernel is compiled: it travels as the length of a tuple.
"""

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

WIDTHS = (1, 2, 4, 8, 12, 16)


def lane_count(n_scores: int) -> int:
    """Return the padded number of lanes for `n_scores`: 1, 2, 4, 8, 12 or a multiple of 16."""
    for width in WIDTHS:
        if n_scores <= width:
            return width
    return -(-n_scores // 16) * 16


def lanes_for(width: int) -> tuple[int, ...]:
    """Return the tuple whose length tells a kernel how many lanes one vector of `width` has."""
    return (0,) * min(width, 16)


def add_lanes_naive(target, i, source, j, lanes):
    """Add `source[j : j + L]` to `target[i : i + L]`, L the length of `lanes`, in plain Python."""
    for lane in range(len(lanes)):
        target[i + lane] += source[j + lane]


@intrinsic
def add_lanes_compiled(typing_context, target, i, source, j, lanes):  # noqa: D103 (its twin says it)
    signature = types.void(target, i, source, j, lanes)

    def generate(context, builder, signature, arguments):
        target_type, i_type, source_type, j_type, lanes_type = signature.args
        target, i, source, j, _ = arguments
        vector = ir.VectorType(context.get_data_type(target_type.dtype), lanes_type.count)
        # Rows of a table start at multiples of one number, not of a whole vector.
        alignment = target_type.dtype.bitwidth // 8

        def pointer(array_type, array, index, index_type):
            data = context.make_array(array_type)(context, builder, array).data
            position = context.cast(builder, index, index_type, types.intp)
            return builder.bitcast(builder.gep(data, [position]), vector.as_pointer())

        into = pointer(target_type, target, i, i_type)
        current = builder.load(into)
        added = builder.load(pointer(source_type, source, j, j_type))
        current.align = added.align = alignment
        builder.store(builder.fadd(current, added), into).align = alignment
        return context.get_dummy_value()

    return signature, generate


add_lanes = add_lanes_naive if numba.config.DISABLE_JIT else add_lanes_compiled
