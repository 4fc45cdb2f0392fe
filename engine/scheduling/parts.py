"""Groups of a model's segments as plans of the core, made when first asked for.

What a part does not make it reads from the caller, and what later groups read it hands back, so
that a query can rest between two parts. Sessions of the same segment are shared by all of them.
A group may have compiled versions, which then run instead of its session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.compiled_kernel import CompiledKernel
from surplus.engine.runtime.held_lanes import held_by
from surplus.engine.runtime.layout import prepack_plan
from surplus.engine.runtime.lowering import lower
from surplus.engine.scheduling.compiled import Compiled
from surplus.engine.scheduling.grouped_plan import GroupedPlan
from surplus.engine.scheduling.place import HOST, Place
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.plan_making import copies_of
from surplus.engine.segmentation.plan_part import Resting, StagedPlan
from surplus.engine.store.folder_use import FolderUse
from surplus.placement.timeline import Timeline

_CONFIG = {"session.enable_mem_pattern": "0"}
"""Batches have many sizes: patterns of each would be kept."""


class Part(NamedTuple):
    """Groups ``first <= i < last`` in the core, and as ``PlanPart`` what they read and make."""

    native: _core.Plan
    reads: tuple[Resting, ...]
    makes: tuple[Resting, ...]
    keeps: tuple[Resting, ...]


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
            own = {"service_ns": self.service_ns, "launch_ns": self.launch_ns}
            return {**own, "captured": False, "uncaptured_ns": 0}
        return {
            "service_ns": self.captured_ns,
            "launch_ns": self.launch_ns,
            "captured": True,
            "uncaptured_ns": self.service_ns,
        }


@dataclass
class Parts:
    """The parts of a model.

    Parameters
    ----------
    graph : Graph
    whole : GroupedPlan
        In one group: what a query runs that does not rest.
    grouped : GroupedPlan
        The same cut into the groups that policies start.
    narrow : GroupedPlan, optional
        In one group: what a query that does not rest runs on one lane of a CPU instead of
        ``whole``, where its bits may differ.
    compiled : Compiled, optional
        Each of its blocks is a group.
    query_limit_ns : int
        How long the kernels of a part may compute; 0 is for ever.
    label : str
        What recordings call it.
    """

    graph: Graph
    whole: GroupedPlan
    grouped: GroupedPlan
    narrow: GroupedPlan | None = None
    compiled: Compiled | None = None
    query_limit_ns: int = 0
    label: str = ""
    _known: dict[tuple[object, ...], Part] = field(default_factory=dict)
    _in_use: FolderUse = field(init=False)

    def __post_init__(self) -> None:
        self._in_use = FolderUse(self.graph.folder, is_stored=self.graph.is_stored)

    def is_whole(self, first: int, last: int) -> bool:
        """Whether these are all groups."""
        return (first, last) == (0, self.grouped.count)

    @property
    def held(self) -> str:
        """Which segments hold lanes although their queries have ended; empty if none does."""
        return held_by([part.native for part in self._known.values()])

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
            By segment of all groups, or of ``whole`` if these are all, for an emulated device; part
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
        grouped = self.grouped
        if self.is_whole(first, last) and not kernels:
            grouped = self._uncut(place)  # nothing is lost between groups
        plan = self._placed(grouped.plan, place, charges, kernels)
        stages = StagedPlan(self.graph.summary, plan, grouped.groups)
        own = stages.part(first, min(last, grouped.count))
        prepack_plan(self.graph, plan)
        native = lower(self.graph, plan, place.machine, own, kernels, _CONFIG)
        native.limit_time(self.query_limit_ns)
        native.be_called(self.label or self.graph.name)
        return Part(native, own.reads, own.makes, own.keeps)

    def _uncut(self, place: Place) -> GroupedPlan:
        is_narrow = place.spec.traits.is_host and place.width == 1
        return self.narrow if is_narrow and self.narrow is not None else self.whole

    def _kernels(self, place: Place, version: int | None) -> dict[str, CompiledKernel]:
        """What functions compute, by the name of their segment."""
        if self.compiled is None or version is None:
            return {}
        found = {
            self._name(segment): self.compiled.kernel(segment.tasks, version, place.width)
            for segment in self.grouped.plan.segments
        }
        return {name: kernel for name, kernel in found.items() if kernel is not None}

    def _placed(
        self,
        plan: Plan,
        place: Place,
        charges: tuple[Charge, ...] | None,
        kernels: Mapping[str, CompiledKernel],
    ) -> Plan:
        """A plan on the lanes of a place, with what that charges for it."""
        own = charges or [Charge()] * len(plan.segments)
        segments = []
        for segment, charge in zip(plan.segments, own, strict=True):
            name, is_elsewhere = self._name(segment), segment.device != HOST
            is_own = is_elsewhere or place.spec.traits.is_host
            width = min(segment.width, place.width) if is_own else segment.width
            segments.append(
                replace(
                    segment,
                    name=name,
                    device=place.index if is_elsewhere else HOST,
                    width=kernels[name].width if name in kernels else width,
                    **charge.of_segment(),
                )
            )
        memories = tuple(spec.memory for spec in place.devices)
        return replace(
            plan,
            devices=tuple(spec.name for spec in place.devices),
            memories=memories,
            segments=tuple(segments),
            copies=copies_of(self.graph, tuple(segments), memories),
            predicted=Timeline((), "not predicted"),
            bound_ns=0,
        )

    def _name(self, segment: Segment) -> str:
        return f"{self.graph.name}: {segment.name}"
