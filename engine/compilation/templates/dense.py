"""Rows times a constant matrix, which lies in slices of 16 columns."""

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
from surplus.engine.compilation.works import SLICE, Dense

_FLOAT = 4


def _tilings(work: Dense) -> list[Tiling]:
    count = work.outs // SLICE
    found = []
    for wide, long in register_tiles(count, work.rows):
        for rows in some([k for k in divisors(work.rows) if k % long == 0], 3):
            for outs in some([k for k in divisors(count // wide) if k <= 16], 2):
                for unrolled in [k for k in (1, 4) if work.ins % k == 0]:
                    found.append(Tiling(outs * wide, rows, wide, long, unrolled))
    return found


def _measures(work: Dense, tiling: Tiling) -> Measures:
    tasks = work.outs // SLICE // tiling.outs * (work.rows // tiling.rows)
    columns = tiling.outs * SLICE
    numbers = tiling.rows * (work.ins + columns) + work.ins * columns
    return Measures(tasks * tiling.unrolled, numbers * _FLOAT)


def _function(work: Dense, tiling: Tiling) -> Any:
    te = part("te")
    x = te.placeholder((work.rows, work.ins), name="x")
    weights = te.placeholder((work.outs // SLICE, work.ins, SLICE), name="weights")
    k = te.reduce_axis((0, work.ins), name="k")
    sums = te.compute(
        (work.rows, work.outs),
        lambda i, j: te.sum(x[i, k] * weights[j // SLICE, k, j % SLICE], axis=k),
        name="sums",
    )
    others, result = with_program(work, sums)
    schedule = scheduled([x, weights, *others], result)
    order_product(schedule, tiling)
    return schedule


def with_program(work: Dense, sums: Any) -> tuple[list[Any], Any]:
    """What else is read, and the result."""
    te = part("te")
    vectors = [te.placeholder((work.outs,), name=f"vector{k}") for k in range(work.program.vectors)]
    others = [
        te.placeholder((work.rows, work.outs), name=f"other{k}")
        for k in range(len(work.program.tensors))
    ]

    def element(i: Any, j: Any) -> Any:
        def read(reading: Reading) -> Any:
            place = int(reading.number)
            return vectors[place][j] if reading.kind == "vector" else others[place][i, j]

        return evaluated(work.program, sums[i, j], read)

    result = te.compute((work.rows, work.outs), element, name="result")
    return [*vectors, *others], result


def order_product(schedule: Any, tiling: Tiling) -> None:
    """Tasks outside, then tiles, the sum's steps, and what is in registers."""
    result, sums = schedule.get_sblock("result"), schedule.get_sblock("sums")
    *head, i, j = schedule.get_loops(result)
    i0, i1, i2 = schedule.split(i, [None, tiling.rows // tiling.long, tiling.long])
    split = [None, tiling.outs // tiling.wide, tiling.wide, SLICE]
    j0, j1, j2, v = schedule.split(j, split)
    schedule.reorder(*head, j0, i0, j1, i1, i2, j2, v)
    schedule.parallel(schedule.fuse(*head, j0, i0))
    schedule.compute_at(sums, i1, preserve_unit_loops=True)
    schedule.set_scope(sums, 0, "local")
    schedule.unroll(i2)
    schedule.unroll(j2)
    schedule.vectorize(v)
    *loops, k = schedule.get_loops(sums)
    i, j = loops[-2:]
    j, v = schedule.split(j, [None, SLICE])
    k, inner = schedule.split(k, [None, tiling.unrolled])
    schedule.reorder(k, inner, i, j, v)
    for loop in (inner, i, j):
        schedule.unroll(loop)
    schedule.vectorize(v)
    zeros = schedule.decompose_reduction(sums, k)
    for loop in schedule.get_loops(zeros)[-3:-1]:
        schedule.unroll(loop)
    schedule.vectorize(schedule.get_loops(zeros)[-1])


TEMPLATE = Template(_tilings, _function, _measures)
