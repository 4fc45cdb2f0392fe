"""Products of matrices that are both computed, one for each head."""

from __future__ import annotations

from typing import Any

from surplus.engine.compilation.program import Reading, evaluated
from surplus.engine.compilation.templates.dense import order_product
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
from surplus.engine.compilation.works import SLICE, Batched

_FLOAT = 4


def _tilings(work: Batched) -> list[Tiling]:
    found = []
    for wide, long in register_tiles(work.outs // SLICE, work.rows):
        for rows in some([k for k in divisors(work.rows) if k % long == 0], 3):
            for unrolled in [k for k in (1, 4) if work.ins % k == 0]:
                found.append(Tiling(work.outs // SLICE, rows, wide, long, unrolled))
    return found


def _measures(work: Batched, tiling: Tiling) -> Measures:
    tasks = work.count * (work.rows // tiling.rows)
    numbers = tiling.rows * (work.ins + work.outs) + work.ins * work.outs
    return Measures(tasks * tiling.unrolled, numbers * _FLOAT)


def _function(work: Batched, tiling: Tiling) -> Any:
    te = part("te")
    x = te.placeholder((work.count, work.rows, work.ins), name="x")
    y = te.placeholder((work.count, work.ins, work.outs), name="y")
    shape = (work.count, work.rows, work.outs)
    k = te.reduce_axis((0, work.ins), name="k")
    sums = te.compute(shape, lambda h, i, j: te.sum(x[h, i, k] * y[h, k, j], axis=k), name="sums")
    others = [
        te.placeholder(dims, name=f"other{place}")
        for place, dims in enumerate(work.program.tensors)
    ]

    def element(*indices: Any) -> Any:
        def read(reading: Reading) -> Any:
            other = others[int(reading.number)]
            ends = zip(indices, other.shape, strict=True)
            return other[tuple(0 if int(n) == 1 else own for own, n in ends)]

        return evaluated(work.program, sums[indices], read)

    result = te.compute(shape, element, name="result")
    schedule = scheduled([x, y, *others], result)
    order_product(schedule, tiling)
    return schedule


TEMPLATE = Template(_tilings, _function, _measures)
