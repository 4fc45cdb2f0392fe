"""Copies between the host and a device of the core, as plans make them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from surplus.engine import _core
from surplus.engine.devices.opened_device import not_measured
from surplus.engine.devices.spec import HOST_MEMORY
from surplus.engine.profiling.segment_probe import HOST, ProbeParams, Spans, spans_of
from surplus.engine.values import to_value
from surplus.placement.problem import Link

SIZES = (4 << 10, 64 << 10, 1 << 20, 8 << 20)
"""Bytes of the copies that are timed."""

_IN_A_ROW = 6

_MakePlan = Callable[[_core.PlanBuilder, int, int], int]
"""(builder, value in the host's memory, copies) -> the first of the copies' nodes."""


@dataclass(frozen=True)
class CopyTimes:
    """Copies of one size in one direction.

    Parameters
    ----------
    size_bytes : int
        Of each.
    single_ns : int
        From the start of one copy until its data can be used.
    in_a_row_ns : int
        What each further copy adds where several wait for the link.
    """

    size_bytes: int
    single_ns: int
    in_a_row_ns: int


class LinkProbe:
    """Times copies on one device of a machine that does nothing else meanwhile.

    Parameters
    ----------
    other : int
        Where copies come from and go to: the host, or a second device.
    """

    def __init__(
        self,
        machine: _core.Machine,
        device: int,
        params: ProbeParams | None = None,
        other: int = HOST,
    ) -> None:
        self._machine, self._device, self._other = machine, device, other
        self._params = params or ProbeParams()

    def copies(self, size_bytes: int) -> tuple[CopyTimes, CopyTimes]:
        """Copies to the device, and copies from it.

        Raises
        ------
        ExecutionError
            If a run fails.
        DeviceLostError
            If that lost the device.
        """
        return self._times(size_bytes, self._there), self._times(size_bytes, self._back)

    def _times(self, size_bytes: int, make: _MakePlan) -> CopyTimes:
        array = np.zeros(max(1, size_bytes // 4), np.float32)
        given = to_value(array, TensorProto.FLOAT)
        try:
            alone, several = (self._spans(make, count, given) for count in (1, _IN_A_ROW))
        except (RuntimeError, MemoryError) as error:
            raise not_measured(self._machine, "copies cannot be timed", error) from error
        return CopyTimes(size_bytes, _longest_ns(alone), max(1, _step_ns(several)))

    def _spans(self, make: _MakePlan, count: int, given: _core.Value) -> list[Spans]:
        """Spans of ``count`` copies in one direction, run by run."""
        builder = _core.PlanBuilder(self._machine)
        source = builder.add_value("x")
        builder.set_inputs([source])
        first = make(builder, source, count)
        rows = spans_of(builder.build(), [given], self._params)
        return [row[first : first + count] for row in rows]

    def _there(self, builder: _core.PlanBuilder, source: int, count: int) -> int:
        return _copies(builder, source, count, self._other, self._device)

    def _back(self, builder: _core.PlanBuilder, source: int, count: int) -> int:
        return _copies(builder, source, count, self._device, self._other)


def _copies(builder: _core.PlanBuilder, given: int, count: int, source: int, target: int) -> int:
    """Copies that are all ready at the same moment, when the tensor has come to their source."""
    brought = given
    if source != HOST:
        brought = builder.add_value("x brought")
        builder.add_copy("bring", HOST, source, given, brought)
    first = int(source != HOST)
    for number in range(count):
        copied = builder.add_value(f"x {number}")
        builder.add_copy(f"copy {number}", source, target, brought, copied, rank=first + number)
    return first


def fitted_link(
    source: str, target: str, copies: Sequence[CopyTimes], staging_bytes: int | None
) -> Link:
    """The link that explains the copies: what each adds is occupancy + bytes / bandwidth.

    Parameters
    ----------
    copies : sequence of CopyTimes
        Of at least two sizes. The bandwidth is that of the largest, from what it takes longer
        than the second largest; the occupancy is what the smallest takes beyond its bytes.
    staging_bytes : int or None
        Pinned pool that copies pass through.

    Raises
    ------
    ValueError
        If there are fewer than two sizes.
    """
    if len({copy.size_bytes for copy in copies}) < 2:
        raise ValueError("a link is fitted to copies of two sizes at least")
    ordered = sorted(copies, key=lambda copy: copy.size_bytes)
    smallest, second, largest = ordered[0], ordered[-2], ordered[-1]
    longer_ns = max(1, largest.in_a_row_ns - second.in_a_row_ns)
    bytes_per_s = (largest.size_bytes - second.size_bytes) / longer_ns * 1e9
    occupancy = smallest.in_a_row_ns - smallest.size_bytes / bytes_per_s * 1e9
    latency = statistics.median(copy.single_ns - copy.in_a_row_ns for copy in copies)
    return Link(
        source,
        target,
        latency_ns=max(0, round(latency)),
        bytes_per_s=bytes_per_s,
        occupancy_ns=max(0, round(occupancy)),
        staging_bytes=staging_bytes,
    )


def measured_links(
    probe: LinkProbe,
    memory: str,
    staging_bytes: int | None,
    sizes: Sequence[int] = SIZES,
    other: str = HOST_MEMORY,
) -> tuple[Link, Link]:
    """Both directions between the memory of the host, or another one, and a device's.

    Raises
    ------
    ExecutionError
        If a run fails.
    """
    found = [probe.copies(size) for size in sizes]
    there = fitted_link(other, memory, [pair[0] for pair in found], staging_bytes)
    back = fitted_link(memory, other, [pair[1] for pair in found], staging_bytes)
    return there, back


def _longest_ns(rows: Sequence[Spans]) -> int:
    return round(statistics.median(int((row[:, 4] - row[:, 3]).max()) for row in rows))


def _step_ns(rows: Sequence[Spans]) -> int:
    """Time between the ends of copies that follow each other."""
    steps = [int(step) for row in rows for step in np.diff(np.sort(row[:, 4]))]
    return round(statistics.median(steps))
