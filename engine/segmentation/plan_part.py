"""Part of a plan: consecutive segments of it, what they read of the others and hand on to them.

A query may rest between two parts of its plan. Stages say which segments go together: no segment
reads what one of a later stage makes. A copy belongs to the stage that first reads what it brings,
or, if that is an answer, to the one that makes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from surplus.engine.dfg.summary import Summary
from surplus.engine.segmentation.plan import Copy, Plan, Segment

Resting = tuple[str, str]
"""A tensor, and the memory that it is in."""


@dataclass(frozen=True)
class PlanPart:
    """Segments of a plan, and the copies that belong to them.

    Parameters
    ----------
    reads : tuple of Resting
        What it reads and does not make.
    makes : tuple of Resting
        What it makes that later parts read, or that is an answer.
    keeps : tuple of Resting
        The same of all parts until its end: what a query needs to go on, or its answers.
    """

    plan: Plan
    segments: tuple[Segment, ...]
    copies: tuple[Copy, ...]
    reads: tuple[Resting, ...]
    makes: tuple[Resting, ...]
    keeps: tuple[Resting, ...]


class StagedPlan:
    """A plan whose segments are in stages.

    Parameters
    ----------
    summary : Summary
        Of the graph: its inputs are in the first device's memory, its answers are to get there.
    stages : sequence of int
        By segment, in the order of ``plan.segments``.
    """

    def __init__(self, summary: Summary, plan: Plan, stages: Sequence[int]) -> None:
        self._plan = plan
        self._stages = stages
        self.count = max(stages) + 1
        first = plan.memories[0]
        self._home = {t.name: (t.name, first) for t in summary.inputs}
        self._made = dict.fromkeys(self._home.values(), -1)
        for segment, stage in zip(plan.segments, stages, strict=True):
            for name in segment.outputs:
                self._home[name] = key = name, plan.memories[segment.device]
                self._made[key] = stage
        copies = {_brought(copy, plan): self._stage_of(copy) for copy in plan.copies}
        self._made |= copies
        self._read: defaultdict[Resting, set[int]] = defaultdict(set)
        for segment, stage in zip(plan.segments, stages, strict=True):
            for name in segment.inputs:
                self._read[self._key(name, segment.device)].add(stage)
        for copy in plan.copies:
            self._read[self._home[copy.tensor]].add(copies[_brought(copy, plan)])
        for tensor in summary.outputs:
            if tensor.name in self._home:  # else it is a constant
                self._read[self._key(tensor.name, 0)].add(self.count)

    def part(self, first: int, last: int) -> PlanPart:
        """Stages ``first <= i < last``."""
        rows = zip(self._plan.segments, self._stages, strict=True)
        copies = ((copy, self._made[_brought(copy, self._plan)]) for copy in self._plan.copies)
        reads = (key for key, made in self._made.items() if made < first)
        keeps = [
            key
            for key, made in self._made.items()
            if made < last and max(self._read[key], default=-1) >= last
        ]
        return PlanPart(
            self._plan,
            tuple(segment for segment, stage in rows if first <= stage < last),
            tuple(copy for copy, stage in copies if first <= stage < last),
            tuple(key for key in reads if any(first <= at < last for at in self._read[key])),
            tuple(key for key in keeps if self._made[key] >= first),
            tuple(keeps),
        )

    def _stage_of(self, copy: Copy) -> int:
        rows = zip(self._plan.segments, self._stages, strict=True)
        memories = self._plan.memories
        reading = (
            stage
            for segment, stage in rows
            if copy.tensor in segment.inputs and memories[segment.device] == memories[copy.target]
        )
        return min(reading, default=max(0, self._made[self._home[copy.tensor]]))

    def _key(self, name: str, device: int) -> Resting:
        """What a device reads: its copy of a tensor, if it has one."""
        key = name, self._plan.memories[device]
        return key if key in self._made else self._home[name]


def _brought(copy: Copy, plan: Plan) -> Resting:
    return copy.tensor, plan.memories[copy.target]
