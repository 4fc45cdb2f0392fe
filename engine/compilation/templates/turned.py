"""Transpositions: a row of the result after the other."""

from __future__ import annotations

from typing import Any

from surplus.engine.compilation.templates.template import Measures, Template, Tiling, scheduled
from surplus.engine.compilation.tvm_here import part
from surplus.engine.compilation.works import Turned

_FLOAT = 4


def _tilings(work: Turned) -> list[Tiling]:
    return [Tiling(1, 1, 1, 1, 1)]


def _measures(work: Turned, tiling: Tiling) -> Measures:
    first = work.dims[work.axes[0]]
    return Measures(first, 2 * work.operations // first * _FLOAT)


def _function(work: Turned, tiling: Tiling) -> Any:
    te = part("te")
    x = te.placeholder(work.dims, name="x")
    shape = tuple(work.dims[axis] for axis in work.axes)

    def element(*indices: Any) -> Any:
        by_axis = dict(zip(work.axes, indices, strict=True))
        return x[tuple(by_axis[axis] for axis in range(len(indices)))]

    schedule = scheduled([x], te.compute(shape, element, name="result"))
    loops = schedule.get_loops(schedule.get_sblock("result"))
    schedule.parallel(loops[0])
    return schedule


TEMPLATE = Template(_tilings, _function, _measures)
