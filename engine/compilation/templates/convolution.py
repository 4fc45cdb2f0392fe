"""Convolutions on slices of 16 channels: sums of a row's places in registers, reads beside them."""

from __future__ import annotations

from typing import Any

from surplus.engine.compilation.program import Reading, evaluated
from surplus.engine.compilation.templates.template import (
    Measures,
    Template,
    Tiling,
    divisors,
    register_tiles,
    scheduled,
    some,
)
from surplus.engine.compilation.tvm_here import part
from surplus.engine.compilation.works import SLICE, Convolution, slices

_FLOAT = 4


def _tilings(work: Convolution) -> list[Tiling]:
    height, width = work.out_size
    count = slices(work.outs)
    found = []
    for wide, long in register_tiles(1 if work.depthwise else count, width):
        for rows in some(divisors(height), 4):
            tasks = [k for k in divisors(count // wide) if k <= 8]
            for outs in some(tasks, 2):
                for unrolled in _unrollable(work):
                    found.append(Tiling(outs * wide, rows, wide, long, unrolled))
    return found


def _unrollable(work: Convolution) -> list[int]:
    return [work.kernel[1]] if work.depthwise else [1, 4]


def _measures(work: Convolution, tiling: Tiling) -> Measures:
    height, width = work.out_size
    tasks = slices(work.outs) // tiling.outs * (height // tiling.rows)
    rows_in = (tiling.rows - 1) * work.strides[0] + work.kernel[0]
    ins = tiling.outs if work.depthwise else slices(work.channels)
    read = ins * rows_in * work.size[1]
    window = work.kernel[0] * work.kernel[1]
    weights = tiling.outs * window * (1 if work.depthwise else slices(work.channels) * SLICE)
    written = tiling.outs * tiling.rows * width
    return Measures(tasks * tiling.unrolled, (read + weights + written) * SLICE * _FLOAT)


def _function(work: Convolution, tiling: Tiling) -> Any:
    schedule = scheduled(*_computed(work))
    result, sums = schedule.get_sblock("result"), schedule.get_sblock("sums")
    o, i, j, v = schedule.get_loops(result)
    o0, o1, o2 = schedule.split(o, [None, tiling.outs // tiling.wide, tiling.wide])
    i0, i1 = schedule.split(i, [None, tiling.rows])
    j0, j1 = schedule.split(j, [None, tiling.long])
    schedule.reorder(o0, i0, o1, i1, j0, j1, o2, v)
    task = schedule.fuse(o0, i0)
    schedule.parallel(task)
    schedule.compute_at(sums, j0, preserve_unit_loops=True)
    schedule.set_scope(sums, 0, "local")
    if any(work.pads):
        padded = schedule.get_sblock("padded")
        schedule.compute_at(padded, task, preserve_unit_loops=True)
        schedule.vectorize(schedule.get_loops(padded)[-1])
    for loop in (j1, o2):
        schedule.unroll(loop)
    schedule.vectorize(v)
    _order_sums(schedule, sums, work, tiling)
    return schedule


def _order_sums(schedule: Any, sums: Any, work: Convolution, tiling: Tiling) -> None:
    """The sum's steps outside, the tile whose sums are in registers inside."""
    loops = schedule.get_loops(sums)[4:]
    if work.depthwise:
        o, i, j, v, high, wide = loops
        schedule.reorder(high, wide, i, j, o, v)
        first = high
        schedule.unroll(wide)
    else:
        o, i, j, v, channels, high, wide, channel = loops
        channel, inner = schedule.split(channel, [None, tiling.unrolled])
        schedule.reorder(channels, high, wide, channel, inner, i, j, o, v)
        first = channels
        schedule.unroll(inner)
    for loop in (i, j, o):
        schedule.unroll(loop)
    schedule.vectorize(v)
    zeros = schedule.decompose_reduction(sums, first)
    for loop in schedule.get_loops(zeros)[4:-1]:
        schedule.unroll(loop)
    schedule.vectorize(schedule.get_loops(zeros)[-1])


def _computed(work: Convolution) -> tuple[list[Any], Any]:
    te = part("te")
    ins, outs = slices(work.channels), slices(work.outs)
    height, width = work.out_size
    x = te.placeholder((ins, *work.size, SLICE), name="x")
    shape = (outs, *work.kernel) if work.depthwise else (outs, ins, *work.kernel, SLICE)
    weights = te.placeholder((*shape, SLICE), name="weights")
    bias = te.placeholder((outs, SLICE), name="bias")
    others = [
        te.placeholder((outs, height, width, SLICE), name=f"other{k}")
        for k in range(len(work.program.tensors))
    ]
    sums = _sums(work, _padded(work, x), weights)

    def element(o: Any, i: Any, j: Any, v: Any) -> Any:
        def read(reading: Reading) -> Any:
            return others[int(reading.number)][o, i, j, v]

        return evaluated(work.program, sums[o, i, j, v] + bias[o, v], read)

    result = te.compute((outs, height, width, SLICE), element, name="result")
    return [x, weights, bias, *others], result


def _padded(work: Convolution, x: Any) -> Any:
    te, tirx = part("te"), part("tirx")
    if not any(work.pads):
        return x
    top, left, bottom, right = work.pads
    (height, width), ins = work.size, slices(work.channels)

    def element(c: Any, i: Any, j: Any, v: Any) -> Any:
        inside = tirx.all(i >= top, i < height + top, j >= left, j < width + left)
        return tirx.if_then_else(inside, x[c, i - top, j - left, v], tirx.const(0.0, "float32"))

    shape = (ins, height + top + bottom, width + left + right, SLICE)
    return te.compute(shape, element, name="padded")


def _sums(work: Convolution, x: Any, weights: Any) -> Any:
    te = part("te")
    down, across = work.strides
    high = te.reduce_axis((0, work.kernel[0]), name="high")
    wide = te.reduce_axis((0, work.kernel[1]), name="wide")
    shape = (slices(work.outs), *work.out_size, SLICE)
    if work.depthwise:
        return te.compute(
            shape,
            lambda o, i, j, v: te.sum(
                x[o, i * down + high, j * across + wide, v] * weights[o, high, wide, v],
                axis=[high, wide],
            ),
            name="sums",
        )
    channels = te.reduce_axis((0, slices(work.channels)), name="channels")
    channel = te.reduce_axis((0, SLICE), name="channel")
    return te.compute(
        shape,
        lambda o, i, j, v: te.sum(
            x[channels, i * down + high, j * across + wide, channel]
            * weights[o, channels, high, wide, channel, v],
            axis=[channels, high, wide, channel],
        ),
        name="sums",
    )


TEMPLATE = Template(_tilings, _function, _measures)
