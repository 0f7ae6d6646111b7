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
    """Return the padded number of lanes for `n_scores`: 1, 2, 4, 8, 12, 16 or a multiple of 8."""
    for width in WIDTHS:
        if n_scores <= width:
            return width
    return -(-n_scores // 8) * 8


def lanes_for(width: int) -> tuple[int, ...]:
    """Return the tuple whose length tells a kernel how many lanes one vector of `width` has."""
    return (0,) * (width if width <= 16 else 8 if width % 16 else 16)


def add_lanes_naive(target, i, source, j, lanes):
    """Add `source[j : j + L]` to `target[i : i + L]`, L the length of `lanes`, in plain Python."""
    for lane in range(len(lanes)):
        target[i + lane] += source[j + lane]


def generate_addition(context, builder, target, source, factor, lanes_type):
    """Emit target[i:] += factor·source[j:]; target and source are (type, array, index, its type).

    The target may be of double precision where the source is of single. `factor` is a number of the
    target's type, or None for 1.
    """

    def pointer(array_type, array, index, index_type):
        vector = ir.VectorType(context.get_data_type(array_type.dtype), lanes_type.count)
        data = context.make_array(array_type)(context, builder, array).data
        position = context.cast(builder, index, index_type, types.intp)
        return builder.bitcast(builder.gep(data, [position]), vector.as_pointer())

    into = pointer(*target)
    vector, alignment = into.type.pointee, target[0].dtype.bitwidth // 8
    current, added = builder.load(into), builder.load(pointer(*source))
    # Rows of a table start at multiples of one number, not of a whole vector.
    current.align, added.align = alignment, source[0].dtype.bitwidth // 8
    if source[0].dtype != target[0].dtype:
        added = builder.fpext(added, vector)
    if factor is not None:
        many = ir.Constant(vector, ir.Undefined)
        for lane in range(lanes_type.count):
            many = builder.insert_element(many, factor, ir.Constant(ir.IntType(32), lane))
        added = builder.fmul(added, many)
    builder.store(builder.fadd(current, added), into).align = alignment
    return context.get_dummy_value()


@intrinsic
def add_lanes_compiled(typing_context, target, i, source, j, lanes):  # noqa: D103 (its twin says it)
    def generate(context, builder, signature, arguments):
        into, i_type, source_type, j_type, lanes_type = signature.args
        target, i, source, j, _ = arguments
        return generate_addition(
            context, builder, (into, target, i, i_type), (source_type, source, j, j_type), None,
            lanes_type,
        )  # fmt: skip

    return types.void(target, i, source, j, lanes), generate


@intrinsic
def add_scaled_compiled(typing_context, target, i, source, j, factor, lanes):  # noqa: D103
    def generate(context, builder, signature, arguments):
        into, i_type, source_type, j_type, factor_type, lanes_type = signature.args
        target, i, source, j, factor, _ = arguments
        factor = context.cast(builder, factor, factor_type, into.dtype)
        return generate_addition(
            context, builder, (into, target, i, i_type), (source_type, source, j, j_type), factor,
            lanes_type,
        )  # fmt: skip

    return types.void(target, i, source, j, factor, lanes), generate


def add_scaled_naive(target, i, source, j, factor, lanes):
    """Do as `add_lanes` with `factor` times the source."""
    for lane in range(len(lanes)):
        target[i + lane] += factor * source[j + lane]


add_lanes = add_lanes_naive if numba.config.DISABLE_JIT else add_lanes_compiled
add_scaled = add_scaled_naive if numba.config.DISABLE_JIT else add_scaled_compiled
