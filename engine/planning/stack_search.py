"""Finds out whether queries of a model may be answered together, and what that takes.

Three things must hold: the rule (engine/dfg/stackable.py), that it gains, measured, and that the
answers are right: rows that were answered together are compared with the same rows one by one, for
every size of a batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine import _core
from surplus.engine.contest.answers import Expected
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.stackable import why_not_stackable
from surplus.engine.errors import EngineError, one_line
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import prepare
from surplus.engine.runtime.stack_use import is_stackable
from surplus.engine.runtime.stacks import RowsTime, StackedShape, Stacks
from surplus.engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)

_SIZES = (1, 2, 4, 8, 16, 32)
"""Rows that are measured."""

_BUDGET_NS = 100_000_000
_LEAST_ROUNDS, _MOST_ROUNDS = 3, 30
"""Sizes are measured in turns, and the least time of each counts: others only add to it."""

_LONGEST_QUERY_NS = 50_000_000
"""A longer one keeps a lane busy enough by itself, and its model is too large to look at twice."""

_LONGEST_NS = 5_000_000
_LONGEST_QUERIES = 3
"""Others wait for a batch no longer than that, or than for so many queries one by one."""

_GAINS = 0.9
"""A row must take less than that of its time alone."""

_ABOUT_AS_GOOD = 1.05
"""A smaller batch is taken where its rows take no longer than that beside the best one's."""

Rows = Mapping[str, np.ndarray[Any, Any]]


class StackSearch:
    """Looks at one model's plan for while queries overlap.

    Parameters
    ----------
    plan : Plan
        What queries that overlap run.
    inputs : mapping of str to array
        A query, by name.
    """

    def __init__(
        self, graph: Graph, plan: Plan, machine: _core.Machine, inputs: Mapping[str, Any]
    ) -> None:
        self._graph = graph
        self._plan = plan
        self._machine = machine
        self._inputs = inputs

    def found(self) -> Stacks:
        """What there is to know; why not, where its queries are to be answered one by one."""
        why_not = self._of_plan() or why_not_stackable(self._graph, self._inputs)
        if why_not:
            return Stacks(why_not)
        try:
            return self._measured()
        except (EngineError, RuntimeError, MemoryError) as error:
            return Stacks(f"a batch fails: {one_line(error)}")

    def _of_plan(self) -> str:
        if self._plan.libraries:
            return f"its kernels are those of {', '.join(self._plan.libraries)}"
        if not is_stackable(self._plan):
            return "it is more than one segment on a lane of the CPU"
        if self._plan.segments[0].service_ns > _LONGEST_QUERY_NS:
            return f"a query takes more than {_LONGEST_QUERY_NS // 1_000_000} ms"
        return ""

    def _measured(self) -> Stacks:
        ports = Ports(self._graph)
        asked = _Asked(ports, prepare(self._graph, self._plan, self._machine, ports).native)
        rows = different_rows(self._inputs, _SIZES[-1])
        times = _worth(_times(asked, rows))
        if len(times) < 2:
            return Stacks("it gains nothing")
        same_from = _same_from(asked, rows[: times[-1].rows])
        if same_from is None:
            return Stacks("a batch answers otherwise than its queries one by one")
        shapes = tuple(
            StackedShape(spec.name, spec.elem_type, tuple(self._inputs[spec.name].shape[1:]))
            for spec in ports.inputs
        )
        return Stacks("", shapes, tuple(times), same_from)


class _Asked:
    """Answers rows by one call."""

    def __init__(self, ports: Ports, native: _core.Plan) -> None:
        self._ports = ports
        self._native = native

    def __call__(self, rows: Sequence[Rows]) -> tuple[dict[str, Any], int]:
        """The answer, and what the call took in nanoseconds."""
        run = self._native.execute(self._ports.values(stacked(rows)), traced=True)
        answer = self._ports.answer(run, None, None)
        start_ns, end_ns = run.spans()[0, 3:5].tolist()
        return answer, max(1, end_ns - start_ns)


def stacked(rows: Sequence[Rows]) -> dict[str, Any]:
    """Inputs of a query of all of these rows."""
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def different_rows(inputs: Mapping[str, Any], count: int) -> list[Rows]:
    """Queries of one row: those of a query, in turns, their floating-point numbers scaled."""
    found: list[Rows] = []
    for i in range(count):
        factor = 1 - i / (2 * count)
        row = {name: value[i % len(value)][np.newaxis] for name, value in inputs.items()}
        found.append({name: _scaled(value, factor) for name, value in row.items()})
    return found


def _scaled(value: np.ndarray[Any, Any], factor: float) -> np.ndarray[Any, Any]:
    if value.dtype.kind != "f":
        return np.ascontiguousarray(value)
    return np.ascontiguousarray(value * value.dtype.type(factor), value.dtype)


def _times(asked: _Asked, rows: Sequence[Rows]) -> list[RowsTime]:
    """Of each size, up to the first that keeps others waiting for too long."""
    first_ns = min(asked(rows[:1])[1] for _ in range(_LEAST_ROUNDS))
    longest_ns = max(_LONGEST_NS, _LONGEST_QUERIES * first_ns)
    found = {1: first_ns}
    for size in _SIZES[1:]:
        found[size] = min(asked(rows[:size])[1] for _ in range(2))
        if found[size] > longest_ns:
            del found[size]
            break
    end_ns = time.monotonic_ns() + _BUDGET_NS
    for done in range(_MOST_ROUNDS):
        if done >= _LEAST_ROUNDS and time.monotonic_ns() > end_ns:
            break
        for size in found:
            found[size] = min(found[size], asked(rows[:size])[1])
    return [RowsTime(size, ns) for size, ns in found.items()]


def _worth(times: Sequence[RowsTime]) -> list[RowsTime]:
    """Those up to the smallest batch that gains about as much as any; the first if none gains."""
    rising = [
        RowsTime(time.rows, max(other.ns for other in times[: place + 1]))
        for place, time in enumerate(times)
    ]
    best = min(time.ns / time.rows for time in rising)
    if best >= _GAINS * rising[0].ns:
        return rising[:1]
    most = next(i for i, t in enumerate(rising) if t.ns / t.rows <= _ABOUT_AS_GOOD * best)
    return rising[: most + 1]


def _same_from(asked: _Asked, rows: Sequence[Rows]) -> int | None:
    """The least size from which on a row's bits are the same in every batch; 0 if none is.

    None where rows differ from those one by one by more than rounding.
    """
    most = len(rows)
    whole, _ = asked(rows)
    backwards, _ = asked(rows[::-1])
    alone = [asked([row])[0] for row in rows]
    one_by_one = {name: np.concatenate([answer[name] for answer in alone]) for name in whole}
    reversed_back = {name: np.ascontiguousarray(value[::-1]) for name, value in backwards.items()}
    expected = Expected(one_by_one, lambda: ())
    if expected.against(whole).is_beyond or expected.against(reversed_back).is_beyond:
        return None
    if not _same(whole, reversed_back, most):
        return 0
    for size in range(most - 1, 0, -1):
        answer = one_by_one if size == 1 else asked(rows[:size])[0]
        if not _same(whole, answer, most if size == 1 else size):
            return size + 1
    return 1


def _same(answer: Mapping[str, Any], other: Mapping[str, Any], rows: int) -> bool:
    return all(
        answer[name][:rows].tobytes() == value[:rows].tobytes() for name, value in other.items()
    )
