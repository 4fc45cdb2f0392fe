"""A device behind a plugin provider as a profile has it: opened for measuring, closed afterwards.

The provider copies inputs and outputs within each run of a session. A segment's time so has three
parts: what any run takes, its operators' own times, and bytes over a bandwidth each way. They are
told apart by timing several copies of an operator in one segment, and operators of two sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from surplus.engine.devices.opened_device import OpenMachine, opened_device
from surplus.engine.devices.plugins import PREFIX, PluginFacts, read_plugin
from surplus.engine.devices.spec import HOST_MEMORY, DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.device_profile import DeviceProfile
from surplus.engine.profiling.gpu_profiler import ON_DEVICE_ONLY, GpuProfilingParams
from surplus.engine.profiling.operator_probe import OperatorProbe, negation
from surplus.engine.profiling.plugin_profiler import PluginProfiler
from surplus.engine.profiling.segment_probe import SegmentProbe
from surplus.engine.profiling.timing_store import TimingStore
from surplus.placement.problem import Link

SIZES = (64 << 10, 4 << 20)
"""Bytes of the tensors by which the bandwidth is measured."""

_FLOAT_BYTES = 4


@dataclass(frozen=True)
class MeasuredPlugin:
    """A plugin provider's device that is being profiled for one graph."""

    spec: DeviceSpec
    facts: PluginFacts
    operators: PluginProfiler
    probe: OperatorProbe

    def profile(self) -> DeviceProfile:
        """What its device says in a profile, when all operators are known.

        Raises
        ------
        ExecutionError
            If a segment cannot be timed.
        """
        origin = f"measured on {self.facts.title}; copies are part of its runs"
        return DeviceProfile.of(self.spec, origin, submit_ns=self.operators.submit_ns())

    def links(self, sizes: tuple[int, int] = SIZES) -> tuple[Link, Link]:
        """Both directions between the host's memory and its own, taken to be alike.

        The device's one thread waits for copies, as it does for those from pageable memory.
        """
        small, large = sizes
        there_and_back = [
            self.probe.without_own_ns(negation(size // _FLOAT_BYTES)) for size in sizes
        ]
        longer_ns = max(1, there_and_back[1] - there_and_back[0])
        bytes_per_s = 2 * (large - small) / longer_ns * 1e9
        up = Link(HOST_MEMORY, self.spec.memory, 0, bytes_per_s, 0, None, pageable=True)
        return up, replace(up, source=up.target, target=up.source)


@contextmanager
def measured_plugin(
    spec: DeviceSpec,
    graph: Graph,
    store: TimingStore,
    open_machine: OpenMachine | None,
    params: GpuProfilingParams | None = None,
) -> Iterator[MeasuredPlugin]:
    """Open a device of which ``check_present`` knows that it can be driven.

    Raises
    ------
    DeviceError
        If nobody said how to open it.
    """
    with opened_device(spec, open_machine) as machine:
        facts = read_plugin(spec.name.removeprefix(PREFIX))
        settings = _for_plugins(params or GpuProfilingParams())
        operators = PluginProfiler(graph, machine, facts.title, store, settings)
        segments = SegmentProbe(machine, 1, settings.probe)
        probe = OperatorProbe(segments, ON_DEVICE_ONLY, params=settings.operators)
        yield MeasuredPlugin(spec, facts, operators, probe)


def _for_plugins(params: GpuProfilingParams) -> GpuProfilingParams:
    """Providers capture no graphs for us, and bring to the host what is delivered."""
    operators = replace(params.operators, captures=False, all_deliver=False)
    return replace(params, operators=operators)
