"""A CUDA device as a profile has it: opened for measuring, closed when all is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from surplus.engine.devices.cuda_driver import GpuFacts, read_driver
from surplus.engine.devices.kinds.cuda import allows_tf32, ordinal
from surplus.engine.devices.opened_device import OpenMachine, opened_device
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.devices.staging import STAGING_BYTES
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.device_profile import DeviceProfile
from surplus.engine.profiling.gpu_profiler import ON_DEVICE_ONLY, GpuProfiler, GpuProfilingParams
from surplus.engine.profiling.link_probe import SIZES, LinkProbe, measured_links
from surplus.engine.profiling.timing_store import TimingStore
from surplus.placement.problem import Link

_LEAST_LANES = 2
"""A launch is told from its execution by what another lane starts meanwhile."""


@dataclass(frozen=True)
class MeasuredGpu:
    """A GPU that is being profiled for one graph."""

    spec: DeviceSpec
    facts: GpuFacts
    operators: GpuProfiler
    copies: LinkProbe

    def profile(self) -> DeviceProfile:
        """What its device says in a profile, when all operators are known.

        Raises
        ------
        ExecutionError
            If a segment cannot be timed.
        """
        return DeviceProfile.of(
            self.spec,
            f"measured on {self.facts.name}",
            memory_bytes=self.facts.memory_bytes,
            submit_ns=self.operators.submit_ns(),
            slowdown=self.operators.slowdown(self.spec.lanes),
        )

    def links(self, sizes: Sequence[int] = SIZES) -> tuple[Link, Link]:
        """Both directions between the host's memory and its own."""
        return measured_links(self.copies, self.spec.memory, STAGING_BYTES, sizes)


@contextmanager
def measured_gpu(
    spec: DeviceSpec,
    graph: Graph,
    store: TimingStore,
    open_machine: OpenMachine | None,
    params: GpuProfilingParams | None = None,
) -> Iterator[MeasuredGpu]:
    """Open a GPU of which ``check_present`` knows that it can be driven.

    Raises
    ------
    DeviceError
        If nobody said how to open it.
    """
    lanes = max(_LEAST_LANES, spec.lanes)
    with opened_device(replace(spec, lanes=lanes), open_machine) as machine:
        facts = read_driver().gpus[ordinal(spec)]
        settings = params or GpuProfilingParams()
        config = ON_DEVICE_ONLY
        title = f"{facts.name}, TF32" if allows_tf32(spec) else facts.name
        operators = GpuProfiler(graph, machine, title, store, settings, config)
        yield MeasuredGpu(spec, facts, operators, LinkProbe(machine, 1, settings.probe))
