"""Groups of a model's segments as plans of the core, made when first asked for.

What a part does not make it reads from the caller, and what later groups read it hands back, so
that a query can rest between two parts. Sessions of the same segment are shared by all of them.
A group may have compiled versions, which then run instead of its session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.compiled_kernel import CompiledKernel
from surplus.engine.runtime.lowering import lower, prepack_plan
from surplus.engine.scheduling.compiled import Compiled
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.plan_making import copies_of
from surplus.engine.segmentation.plan_part import Resting, StagedPlan
from surplus.placement.timeline import Timeline

_CONFIG = {"session.enable_mem_pattern": "0"}
"""Batches have many sizes: patterns of each would be kept."""

HOST = 0
"""The device whose memory queries come from, and whose lanes are the CPU's."""


class Part(NamedTuple):
    """Groups ``first <= i < last`` in the core, and as ``PlanPart`` what they read and make."""

    native: _core.Plan
    reads: tuple[Resting, ...]
    makes: tuple[Resting, ...]
    keeps: tuple[Resting, ...]


class Cluster(NamedTuple):
    """Tasks that run as one segment: on the device that the group was started on, or the CPU.

    ``width`` is how many of the CPU's lanes it takes beside another device.
    """

    tasks: tuple[int, ...]
    is_on_host: bool = False
    width: int = 1


@dataclass(frozen=True)
class Charge:
    """What an emulated device charges for a segment.

    Parameters
    ----------
    service_ns, launch_ns, captured_ns : int
        As ``PlanBuilder.add_session``.
    """

    service_ns: int = 0
    launch_ns: int = 0
    captured_ns: int = -1

    def of_segment(self) -> dict[str, Any]:
        """The same as a segment of a plan has it."""
        if self.captured_ns < 0:
            return {"service_ns": self.service_ns, "launch_ns": self.launch_ns}
        return {
            "service_ns": self.captured_ns,
            "launch_ns": self.launch_ns,
            "captured": True,
            "uncaptured_ns": self.service_ns,
        }


@dataclass(frozen=True)
class Place:
    """A device of a machine; on a CPU, how many of its lanes.

    ``by_share``: its partitions are shares of its processors, not some of its lanes.
    ``devices``: all of the machine, of which it is the one at ``index``; the first is a CPU.
    ``with_host``: that CPU takes part in the plans of this device.
    """

    machine: _core.Machine
    spec: DeviceSpec
    index: int
    devices: tuple[DeviceSpec, ...]
    width: int = 1
    by_share: bool = False
    with_host: bool = False


@dataclass
class Parts:
    """The parts of a model.

    Parameters
    ----------
    graph : Graph
    groups : sequence of sequence of Cluster
        In the order in which they run.
    whole : sequence of Cluster
        The segments of the plan that they are cut from: what a query runs that does not rest.
    compiled : Compiled, optional
        Each of its blocks is a group.
    query_limit_ns : int
        How long the kernels of a part may compute; 0 is for ever.
    """

    graph: Graph
    groups: Sequence[Sequence[Cluster]]
    whole: Sequence[Cluster]
    compiled: Compiled | None = None
    query_limit_ns: int = 0
    _known: dict[tuple[object, ...], Part] = field(default_factory=dict)

    @property
    def clusters(self) -> Iterator[Cluster]:
        """Of all groups."""
        return chain.from_iterable(self.groups)

    def is_whole(self, first: int, last: int) -> bool:
        """Whether these are all groups."""
        return (first, last) == (0, len(self.groups))

    def part(
        self,
        first: int,
        last: int,
        place: Place,
        charges: Sequence[Charge] | None = None,
        version: int | None = 0,
    ) -> Part:
        """Groups ``first <= i < last`` on a place.

        Parameters
        ----------
        charges : sequence of Charge, optional
            By cluster of all groups, or of ``whole`` if these are all, for an emulated device; part
            of the key.
        version : int, optional
            Of the groups that have compiled ones; None for sessions only.

        Raises
        ------
        ExecutionError
            If ONNX Runtime refuses a segment, or a library is gone or was changed.
        """
        costs = None if charges is None else tuple(charges)
        key = (first, last, place.spec, place.width, costs, version)
        if key not in self._known:
            self._known[key] = self._made(first, last, place, costs, version)
        return self._known[key]

    def _made(
        self,
        first: int,
        last: int,
        place: Place,
        charges: tuple[Charge, ...] | None,
        version: int | None,
    ) -> Part:
        kernels = self._kernels(place, version)
        groups = self.groups
        if self.is_whole(first, last) and not kernels:
            groups = (self.whole,)  # nothing is lost between them
        plan = self._plan(groups, place, charges, kernels)
        stages = [stage for stage, clusters in enumerate(groups) for _ in clusters]
        own = StagedPlan(self.graph.summary, plan, stages).part(first, min(last, len(groups)))
        prepack_plan(self.graph, plan)
        native = lower(self.graph, plan, place.machine, own, kernels, _CONFIG)
        native.limit_time(self.query_limit_ns)
        return Part(native, own.reads, own.makes, own.keeps)

    def _kernels(self, place: Place, version: int | None) -> dict[str, CompiledKernel]:
        """What functions compute, by the name of their segment."""
        if self.compiled is None or version is None:
            return {}
        found = {
            self._name(cluster): self.compiled.kernel(cluster.tasks, version, place.width)
            for cluster in self.clusters
        }
        return {name: kernel for name, kernel in found.items() if kernel is not None}

    def _plan(
        self,
        groups: Sequence[Sequence[Cluster]],
        place: Place,
        charges: tuple[Charge, ...] | None,
        kernels: Mapping[str, CompiledKernel],
    ) -> Plan:
        clusters = list(chain.from_iterable(groups))
        own = charges or [Charge()] * len(clusters)
        segments = []
        for rank, (cluster, charge) in enumerate(zip(clusters, own, strict=True)):
            name = self._name(cluster)
            own_width = kernels[name].width if name in kernels else place.width
            segments.append(
                Segment(
                    name=name,
                    device=HOST if cluster.is_on_host else place.index,
                    width=cluster.width if cluster.is_on_host else own_width,
                    tasks=cluster.tasks,
                    inputs=tuple(boundary_inputs(self.graph, cluster.tasks)),
                    outputs=tuple(boundary_outputs(self.graph, cluster.tasks)),
                    rank=rank,
                    **charge.of_segment(),
                )
            )
        memories = tuple(spec.memory for spec in place.devices)
        return Plan(
            source_hash=self.graph.source_hash,
            name=self.graph.name,
            policy="",
            devices=tuple(spec.name for spec in place.devices),
            memories=memories,
            segments=tuple(segments),
            copies=copies_of(self.graph, tuple(segments), memories),
            predicted=Timeline((), "not predicted"),
            bound_ns=0,
        )

    def _name(self, cluster: Cluster) -> str:
        more = len(cluster.tasks) - 1
        first = self.graph.tasks[cluster.tasks[0]].name
        return f"{self.graph.name}: {first}{f' +{more}' if more else ''}"
