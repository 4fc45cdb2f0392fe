"""Programs over rows: normalisations and softmaxes, a row at a time, which stays in the cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from surplus.engine.compilation.program import Reading, elementwise, exponential, number
from surplus.engine.compilation.templates.template import (
    Measures,
    Template,
    Tiling,
    divisors,
    scheduled,
    some,
)
from surplus.engine.compilation.tvm_here import part
from surplus.engine.compilation.works import SLICE, Rowwise

_FLOAT = 4


def _tilings(work: Rowwise) -> list[Tiling]:
    return [Tiling(1, rows, 1, 1, 1) for rows in some(divisors(work.rows), 4)]


def _measures(work: Rowwise, tiling: Tiling) -> Measures:
    full = sum(math.prod(dims[:-1]) > 1 for dims in work.program.tensors) + 1
    return Measures(work.rows // tiling.rows, full * tiling.rows * work.dims[-1] * _FLOAT)


def _function(work: Rowwise, tiling: Tiling) -> Any:
    stages = _Stages(work)
    schedule = scheduled(stages.placeholders, stages.result())
    *_, result = stages.names
    block = schedule.get_sblock(result)
    i, j = schedule.get_loops(block)
    task, row = schedule.split(i, [None, tiling.rows])
    schedule.parallel(task)
    _vectorized(schedule, j)
    for name in reversed(stages.names[:-1]):
        own = schedule.get_sblock(name)
        schedule.compute_at(own, row, preserve_unit_loops=True)
        if name in stages.running:
            _vector_of_sums(schedule, own)
        elif name not in stages.sums:
            _vectorized(schedule, schedule.get_loops(own)[-1])
    return schedule


def _vectorized(schedule: Any, loop: Any) -> None:
    extent = int(schedule.get(loop).extent)
    if extent % SLICE == 0:
        _, inner = schedule.split(loop, [None, SLICE])
        schedule.vectorize(inner)


def _vector_of_sums(schedule: Any, block: Any) -> None:
    """Running sums side by side."""
    *_, lane, step = schedule.get_loops(block)
    schedule.reorder(step, lane)
    schedule.vectorize(lane)
    zeros = schedule.decompose_reduction(block, step)
    schedule.vectorize(schedule.get_loops(zeros)[-1])


class _Stages:
    """The steps of a program as TVM's stages, each of rows times columns, or rows times 1."""

    def __init__(self, work: Rowwise) -> None:
        te = part("te")
        self._rows, self._columns = work.rows, work.dims[-1]
        self._program = work.program
        self.names: list[str] = []
        self.sums: set[str] = set()
        self.running: set[str] = set()
        vectors = [
            te.placeholder((1, self._columns), name=f"vector{k}")
            for k in range(work.program.vectors)
        ]
        tensors = [
            te.placeholder((math.prod(dims[:-1]), dims[-1]), name=f"tensor{k}")
            for k, dims in enumerate(work.program.tensors)
        ]
        self.placeholders = [*tensors, *vectors]
        self._read = {"vector": vectors, "tensor": tensors, "value": []}

    def result(self) -> Any:
        """The last step, of all steps."""
        for row in self._program.instructions:
            operands = [self._operand(own) for own in row.operands]
            made = self._made(row.operator, operands)
            self._read["value"].append(made)
        return self._read["value"][-1]

    def _operand(self, reading: Reading) -> Any:
        if reading.kind == "scalar":
            return number(reading.number)
        return self._read[reading.kind][int(reading.number)]

    def _made(self, operator: str, operands: list[Any]) -> Any:
        if operator == "ReduceMean":
            total = self._over_row("sum", operands[0])
            return self._stage(1, lambda i, j: total[i, 0] / number(float(self._columns)))
        if operator == "Softmax":
            return self._softmax(operands[0])
        columns = max(int(x.shape[1]) for x in operands if hasattr(x, "shape") and x.shape)

        def element(i: Any, j: Any) -> Any:
            return elementwise(operator, [_at(x, i, j) for x in operands])

        return self._stage(columns, element)

    def _softmax(self, x: Any) -> Any:
        most = self._over_row("max", x)
        powers = self._stage(self._columns, lambda i, j: exponential(x[i, j] - most[i, 0]))
        total = self._over_row("sum", powers)
        parts = self._stage(1, lambda i, j: number(1.0) / total[i, 0])
        return self._stage(self._columns, lambda i, j: powers[i, j] * parts[i, 0])

    def _over_row(self, reducer: str, x: Any) -> Any:
        """In as many running sums as a vector has numbers, then over these."""
        te = part("te")
        reduce: Callable[..., Any] = getattr(te, reducer)
        lanes = SLICE if self._columns % SLICE == 0 else 1
        steps = te.reduce_axis((0, self._columns // lanes), name="steps")
        shape = (self._rows, lanes)
        name = self._name()
        running = te.compute(
            shape, lambda i, v: reduce(x[i, steps * lanes + v], axis=steps), name=name
        )
        self.running.add(name)
        lane = te.reduce_axis((0, lanes), name="lane")
        name = self._name()
        self.sums.add(name)
        shape = (self._rows, 1)
        return te.compute(shape, lambda i, j: reduce(running[i, lane], axis=lane), name=name)

    def _stage(self, columns: int, element: Callable[[Any, Any], Any]) -> Any:
        return part("te").compute((self._rows, columns), element, name=self._name())

    def _name(self) -> str:
        self.names.append(f"stage{len(self.names)}")
        return self.names[-1]


def _at(x: Any, i: Any, j: Any) -> Any:
    """An element, of what has a row or a column only, too."""
    if not (hasattr(x, "shape") and x.shape):
        return x
    return x[0 if int(x.shape[0]) == 1 else i, 0 if int(x.shape[1]) == 1 else j]


TEMPLATE = Template(_tilings, _function, _measures)
