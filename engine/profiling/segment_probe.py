"""Times of segments on a device of the core, from the spans of plans made to be timed.

A plan copies the inputs, then submits one or more equal segments and, behind them, a marker that
does nothing and takes another lane. A segment's span says how long it takes; the distance from its
start to the marker's says how long it kept the submitting thread.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surplus.engine import _core
from surplus.engine.devices.opened_device import not_measured
from surplus.engine.profiling.timing import Timing

Spans = NDArray[np.int64]
"""Rows of node, lane, ready, start and end, in the order of the nodes."""

HOST = 0
"""Index of the CPU in every machine."""


@dataclass(frozen=True)
class ProbeParams:
    """How often to run a plan.

    Parameters
    ----------
    warm_up : int
        Runs that do not count: loading kernels, choosing algorithms, capturing.
    least, most : int
        Runs that count.
    budget_ns : int
        Enough for one plan, once ``least`` runs were made.
    """

    warm_up: int = 3
    least: int = 3
    most: int = 20
    budget_ns: int = 10_000_000

    def __post_init__(self) -> None:
        if self.warm_up < 0 or not 1 <= self.least <= self.most or self.budget_ns < 0:
            raise ValueError(f"runs must satisfy 1 <= {self.least=} <= {self.most=}, none negative")


@dataclass(frozen=True)
class ProbeCharge:
    """What an emulated device charges for a segment; of real ones all is 0."""

    service_ns: int = 0
    launch_ns: int = 0
    captured_ns: int = 0


@dataclass(frozen=True)
class Probed:
    """A segment to be timed.

    Parameters
    ----------
    model : bytes or str
        The segment, or the path of its file.
    inputs : mapping of str to _core.Value
        Tensors in the host's memory.
    outputs : sequence of str
        Names that it delivers.
    level : str
        Graph optimisation.
    config : mapping of str to str
        ONNX Runtime's session configuration.
    captured : bool
        Whether to submit it as a captured graph.
    charge : ProbeCharge
        For an emulated device.
    """

    model: bytes | str
    inputs: Mapping[str, _core.Value]
    outputs: Sequence[str]
    level: str = "disable_all"
    config: Mapping[str, str] = field(default_factory=dict)
    captured: bool = False
    charge: ProbeCharge = field(default_factory=ProbeCharge)


@dataclass(frozen=True)
class SegmentTimes:
    """What a segment takes.

    Parameters
    ----------
    service : Timing
        From its start to its end.
    host_ns : int or None
        How long it keeps the submitting thread; None on a device of one lane.
    is_captured : bool
        Whether it was replayed as a captured graph.
    """

    service: Timing
    host_ns: int | None
    is_captured: bool


class SegmentProbe:
    """Times segments on one device of a machine that does nothing else meanwhile.

    Parameters
    ----------
    machine : _core.Machine
        A CPU first.
    device : int
        Index of the device.
    """

    def __init__(
        self, machine: _core.Machine, device: int, params: ProbeParams | None = None
    ) -> None:
        self._machine, self._device = machine, device
        self._params = params or ProbeParams()
        self.lanes: int = machine.stats()["devices"][device]["lanes"]

    def times(self, probed: Probed) -> SegmentTimes:
        """Run one segment, alone on the device, again and again.

        Raises
        ------
        ExecutionError
            If the device refuses the segment, or a run fails.
        DeviceLostError
            If that lost the device.
        """
        plan, segments, rows = self._runs(probed, 1)
        first = segments[0]
        service = Timing.of([int(row[first, 4] - row[first, 3]) for row in rows])
        host = _host_ns(rows, first) if self.lanes > 1 else None
        return SegmentTimes(service, host, first in plan.captured_nodes)

    def crowded_ns(self, probed: Probed, lanes: int) -> int:
        """Time of a segment that starts while ``lanes - 1`` equal ones run, the median.

        Raises
        ------
        ExecutionError
            If the device refuses the segment, or a run fails.
        DeviceLostError
            If that lost the device.
        """
        _, segments, rows = self._runs(probed, lanes)
        times: list[int] = []
        for row in rows:
            spans = row[segments.start : segments.stop]
            last = int(np.argmax(spans[:, 3]))
            times.append(int(spans[last, 4] - spans[last, 3]))
        return round(statistics.median(times))

    def outputs(self, probed: Probed) -> list[_core.Value | None]:
        """What a segment answers, in the host's memory.

        Raises
        ------
        ExecutionError
            If the device refuses the segment, or the run fails.
        DeviceLostError
            If that lost the device.
        """
        builder = _core.PlanBuilder(self._machine)
        try:
            given, moved, _ = self._copied_in(builder, probed)
            made = {name: builder.add_value(f"{name} 0") for name in probed.outputs}
            self._segment(builder, probed, moved, made, 0)
            back = [self._copied_out(builder, value) for value in made.values()]
            builder.set_inputs(list(given.values()))
            builder.set_outputs(back)
            return builder.build().run(list(probed.inputs.values()))
        except (RuntimeError, MemoryError) as error:
            raise not_measured(self._machine, "the segment does not run", error) from error

    def _runs(self, probed: Probed, count: int) -> tuple[_core.Plan, range, list[Spans]]:
        """The plan, which of its nodes are segments, and the spans of its runs."""
        try:
            plan, first = self._plan(probed, count)
            rows = spans_of(plan, list(probed.inputs.values()), self._params)
        except (RuntimeError, MemoryError) as error:
            raise not_measured(self._machine, "the segment cannot be timed", error) from error
        return plan, range(first, first + count), rows

    def _plan(self, probed: Probed, count: int) -> tuple[_core.Plan, int]:
        """The plan, and the first of its segments."""
        builder = _core.PlanBuilder(self._machine)
        given, moved, copies = self._copied_in(builder, probed)
        nodes = []
        for number in range(count):
            made = {name: builder.add_value(f"{name} {number}") for name in probed.outputs}
            nodes.append(self._segment(builder, probed, moved, made, number))
        builder.add_work("marker", self._device, after=copies, rank=count + 1)
        builder.set_inputs(list(given.values()))
        return builder.build(), nodes[0]

    def _copied_in(
        self, builder: _core.PlanBuilder, probed: Probed
    ) -> tuple[dict[str, int], dict[str, int], list[int]]:
        """Inputs in the host's memory, in the device's, and the copies' nodes."""
        given = {name: builder.add_value(name) for name in probed.inputs}
        moved = {name: builder.add_value(f"{name} there") for name in given}
        copies = [
            builder.add_copy(f"copy {name}", HOST, self._device, given[name], moved[name])
            for name in given
        ]
        return given, moved, copies

    def _copied_out(self, builder: _core.PlanBuilder, value: int) -> int:
        back = builder.add_value(f"value {value} back")
        builder.add_copy(f"copy value {value}", self._device, HOST, value, back)
        return back

    def _segment(
        self,
        builder: _core.PlanBuilder,
        probed: Probed,
        inputs: Mapping[str, int],
        made: Mapping[str, int],
        number: int,
    ) -> int:
        charge = probed.charge
        return builder.add_session(
            f"segment {number}",
            self._device,
            probed.model,
            list(inputs.items()),
            list(made.items()),
            rank=1 + number,
            service_ns=charge.service_ns,
            launch_ns=charge.launch_ns,
            captured_ns=charge.captured_ns if probed.captured else -1,
            level=probed.level,
            config=dict(probed.config),
        )


def spans_of(plan: _core.Plan, inputs: Sequence[_core.Value], params: ProbeParams) -> list[Spans]:
    """Spans of runs one after another, a row a node."""
    rows: list[Spans] = []
    for number in range(params.warm_up + params.most):
        run = plan.execute(list(inputs), traced=True)
        if run.status != "ok":
            raise RuntimeError(run.error)
        if number < params.warm_up:
            continue
        found = run.spans()
        rows.append(found[np.argsort(found[:, 0])])
        if len(rows) >= params.least and _spent_ns(rows) > params.budget_ns:
            break
    return rows


def _spent_ns(rows: Sequence[Spans]) -> int:
    return sum(int(row[:, 4].max()) for row in rows)


def _host_ns(rows: Sequence[Spans], segment: int) -> int | None:
    """From the segment's start to the marker's, unless the marker waited for the segment's lane."""
    marker = segment + 1
    found = [
        int(row[marker, 3] - row[segment, 3])
        for row in rows
        if row[marker, 1] != row[segment, 1] or row[marker, 3] > row[segment, 4]
    ]
    return round(statistics.median(found)) if found else None
