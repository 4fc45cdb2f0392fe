"""Rules of operators that move, cut and look up elements."""

from __future__ import annotations

import numpy as np

from bench.fuzzing.elementwise import are_apart
from bench.fuzzing.growing import Array, Growing
from bench.fuzzing.rules import (
    axis_of,
    has_axes,
    integers,
    is_number,
    is_single,
    is_whole,
    of_rank,
    rule,
    some_axes,
)


@rule
def transpose(g: Growing) -> None:
    name = g.any(has_axes)
    if name:
        g.op(
            "Transpose", [name], perm=g.random.sample(range(g.value(name).ndim), g.value(name).ndim)
        )


@rule
def reshape(g: Growing) -> None:
    """To constant sizes, one of them perhaps left to the operator."""
    name = g.any()
    if name is None:
        return
    sizes = _factors(g, g.value(name).size)
    if sizes and g.value(name).size and g.random.random() < 0.5:
        sizes[g.random.randrange(len(sizes))] = -1
    g.op("Reshape", [name, integers(g, *sizes)])


@rule
def reshape_as_is(g: Growing) -> None:
    """To sizes that the graph reckons from another shape."""
    name = g.any(has_axes)
    if name is None:
        return
    shape = g.op("Shape", [name])
    count = shape and g.op("Slice", [shape[0], integers(g, 0), integers(g, 1)])
    sizes = count and g.op("Concat", [count[0], integers(g, -1)], axis=0)
    if sizes and g.value(name).size:
        g.op("Reshape", [name, sizes[0]])


@rule
def flatten(g: Growing) -> None:
    name = g.any(has_axes)
    if name:
        g.op("Flatten", [name], axis=g.random.randint(0, g.value(name).ndim))


@rule
def squeeze(g: Growing) -> None:
    name = g.any(lambda v: 1 in v.shape)
    if name:
        axes = [i for i, extent in enumerate(g.value(name).shape) if extent == 1]
        g.op("Squeeze", [name, integers(g, g.random.choice(axes))])


@rule
def unsqueeze(g: Growing) -> None:
    name = g.any()
    if name:
        g.op("Unsqueeze", [name, integers(g, g.random.randint(0, g.value(name).ndim))])


@rule
def expand(g: Growing) -> None:
    name = g.any()
    if name:
        shape = [g.random.choice((2, 3)) if n == 1 else n for n in g.value(name).shape]
        g.op("Expand", [name, integers(g, *[g.random.randint(1, 2), *shape])])


@rule
def expand_as(g: Growing) -> None:
    """To the shape of another tensor, of which nothing else is read."""
    name, like = g.any(is_number), g.any()
    shape = name and like and g.op("Shape", [like])
    if shape:
        g.op("Expand", [name, shape[0]])


@rule
def tile(g: Growing) -> None:
    name = g.any(has_axes)
    if name:
        g.op(
            "Tile", [name, integers(g, *[g.random.choice((1, 1, 2)) for _ in g.value(name).shape])]
        )


@rule
def cut(g: Growing) -> None:
    """Slice along some axes, with steps of either sign, perhaps beyond the ends."""
    name = g.any(has_axes)
    if name is None:
        return
    axes = some_axes(g, g.value(name))
    steps = [g.random.choice((1, 1, 2, -1)) for _ in axes]
    starts = [-1 if step < 0 else g.random.choice((0, 0, 1)) for step in steps]
    ends = [-(1 << 40) if step < 0 else g.random.choice((1 << 40, 2, -1)) for step in steps]
    g.op("Slice", [name, *(integers(g, *row) for row in (starts, ends, axes, steps))])


@rule
def concat(g: Growing) -> None:
    first = g.any(has_axes)
    if first is None:
        return
    value, axis = g.value(first), axis_of(g, g.value(first))

    def fits(other: Array) -> bool:
        alike = other.dtype == value.dtype and other.ndim == value.ndim
        return alike and all(
            a == b or i == axis % value.ndim
            for i, (a, b) in enumerate(zip(value.shape, other.shape, strict=True))
        )

    others = [g.any(fits) or first for _ in range(g.random.randint(1, 4))]
    g.op("Concat", [first, *others], axis=axis)


@rule
def split(g: Growing) -> None:
    name = g.any(lambda v: has_axes(v) and max(v.shape) > 1)
    if name is None:
        return
    axis = int(np.argmax(g.value(name).shape))
    extent = g.value(name).shape[axis]
    first = g.random.randint(0, extent)
    g.op("Split", [name, integers(g, first, extent - first)], outputs=2, axis=axis)


@rule
def pad(g: Growing) -> None:
    name = g.any(lambda v: is_number(v) and is_whole(v))
    if name:
        pads = [g.random.choice((0, 0, 1)) for _ in range(2 * g.value(name).ndim)]
        mode = g.random.choice(("constant", "edge", "reflect"))
        g.op("Pad", [name, integers(g, *pads)], mode=mode)


@rule
def gather(g: Growing) -> None:
    name = g.any(is_whole)
    if name:
        axis = axis_of(g, g.value(name))
        extent = g.value(name).shape[axis]
        at = g.rng.integers(-extent, extent, g.random.choice(((), (1,), (3,), (2, 2), (0,))))
        g.op("Gather", [name, g.constant(np.asarray(at, np.int64))], axis=axis)


@rule
def gather_elements(g: Growing) -> None:
    name = g.any(is_whole)
    if name:
        value, axis = g.value(name), axis_of(g, g.value(name))
        at = g.rng.integers(0, value.shape[axis], value.shape)
        g.op("GatherElements", [name, g.constant(at)], axis=axis)


@rule
def gather_points(g: Growing) -> None:
    name = g.any(is_whole)
    if name:
        at = g.rng.integers(0, g.value(name).shape[0], (2, 1))
        g.op("GatherND", [name, g.constant(at)])


@rule
def scatter(g: Growing) -> None:
    """Whole rows into others, each place once."""
    name = g.any(lambda v: is_number(v) and is_whole(v))
    if name:
        value = g.value(name)
        rows = np.array([[g.random.randrange(value.shape[0])]], np.int64)
        put = g.rng.standard_normal((1, *value.shape[1:])).astype(value.dtype)
        g.op("ScatterND", [name, g.constant(rows), g.constant(put)])


@rule
def scatter_elements(g: Growing) -> None:
    name = g.any(lambda v: is_number(v) and is_whole(v))
    if name:
        value, axis = g.value(name), axis_of(g, g.value(name))
        shape = list(value.shape)
        shape[axis] = 1
        at = g.rng.integers(0, value.shape[axis], shape)
        put = g.rng.standard_normal(shape).astype(value.dtype)
        g.op("ScatterElements", [name, g.constant(at), g.constant(put)], axis=axis)


@rule
def space(g: Growing) -> None:
    name = g.any(of_rank(4))
    if name:
        g.op(g.random.choice(("DepthToSpace", "SpaceToDepth")), [name], blocksize=2)


@rule
def shape(g: Growing) -> None:
    """A shape as numbers that are reckoned with."""
    name = g.any()
    made = name and g.op(g.random.choice(("Shape", "Size")), [name])
    if made and g.random.random() < 0.5:
        g.op("Cast", made, to=1)


@rule
def made_of_shape(g: Growing) -> None:
    name = g.any(lambda v: v.size < 500)
    made = name and g.op("Shape", [name])
    if made:
        g.op("ConstantOfShape", made)


@rule
def count_up(g: Growing) -> None:
    """A Range as long as some axis is."""
    name = g.any(has_axes)
    made = name and g.op("Shape", [name])
    first = made and g.op("Gather", [made[0], g.constant(np.array(0, np.int64))])
    if first:
        zero, one = (g.constant(np.array(n, np.int64)) for n in (0, 1))
        g.op("Range", [zero, first[0], one])


@rule
def nonzero(g: Growing) -> None:
    """An output whose size only the data tells."""
    name = g.any(
        lambda v: has_axes(v) and (v.dtype.kind in "bi" or np.abs(v).min(initial=1) > 0.01)
    )
    if name:
        g.op("NonZero", [name])


@rule
def compress(g: Growing) -> None:
    name = g.any(is_whole)
    if name:
        keeps = g.rng.integers(0, 2, g.value(name).shape[0]).astype(np.bool_)
        g.op("Compress", [name, g.constant(keeps)], axis=0)


@rule
def top(g: Growing) -> None:
    """The largest, where no two are about equal; perhaps of an axis without extent."""
    name = g.any(lambda v: is_single(v) and has_axes(v) and v.shape[-1] > 0)
    if name and are_apart(g.value(name), -1):
        count = g.random.randint(1, g.value(name).shape[-1])
        g.op("TopK", [name, integers(g, count)], outputs=2)


@rule
def triangle(g: Growing) -> None:
    name = g.any(lambda v: is_number(v) and v.ndim >= 2)
    if name and g.opset >= 14:
        g.op("Trilu", [name], upper=g.random.randrange(2))


@rule
def one_hot(g: Growing) -> None:
    name = g.any(lambda v: v.dtype == np.int64 and v.size < 200 and is_whole(v))
    if name:
        depth = g.constant(np.array(4, np.int64))
        g.op("OneHot", [name, depth, g.constant(np.array([0, 1], np.float32))])


@rule
def resize(g: Growing) -> None:
    name = g.any(of_rank(4))
    if name:
        scales = np.array([1, 1, *g.random.choice(((2, 2), (1, 2), (0.5, 0.5)))], np.float32)
        mode = g.random.choice(("nearest", "linear"))
        g.op("Resize", [name, "", g.constant(scales)], mode=mode)


@rule
def reverse(g: Growing) -> None:
    name = g.any(lambda v: is_single(v) and v.ndim >= 2 and v.size > 0)
    if name:
        time, batch = g.value(name).shape[:2]
        lengths = g.rng.integers(1, time + 1, batch)
        g.op("ReverseSequence", [name, g.constant(lengths)], time_axis=0, batch_axis=1)


def _factors(g: Growing, size: int) -> list[int]:
    """Sizes that multiply to ``size``, in any order, some of them 1."""
    found = [1] * g.random.randint(0, 2)
    while size > 1:
        least = next(n for n in range(2, size + 1) if size % n == 0)
        found.append(least)
        size //= least
    if size == 0:
        return [0, 3]
    g.random.shuffle(found)
    while len(found) > 4:
        found.append(found.pop() * found.pop(0))
    return found
