"""What a machine's recorder remembers: nodes that lanes ran, and runs that ended, of all models.

The core's recorder (engine/core/scheduler/flight_recorder.hpp) keeps them as plain numbers. They
stay numbers here, since there are thousands; what one query is explained with becomes spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]

OK, FAILED, CANCELLED, ENDED_LATE = 1, 2, 3, 4
"""How runs end; the last was ended when its deadline had passed."""


class NodeField(IntEnum):
    """Columns of ``Flights.nodes``."""

    DEVICE = 0
    KIND = 1
    ARRIVAL = 2
    PLAN = 3
    NODE = 4
    LANE = 5
    START = 6
    END = 7


class LaneKind(IntEnum):
    """Whose thread ran a node."""

    LANE = 0
    BORROWED = 1
    """A lane's place, lent to what is more urgent while the lane computed."""
    BEST_EFFORT = 2
    """Of as many lanes beside the others, which run where nobody else wants to."""


@dataclass(frozen=True, slots=True)
class NodeCard:
    """What a plan says of one of its nodes; ``after`` are those that it waits for."""

    name: str
    is_copy: bool
    device: int
    width: int
    service_ns: int
    after: tuple[int, ...]


@dataclass(frozen=True)
class PlanCard:
    """A plan of a model, as its records name it.

    Parameters
    ----------
    number : int
        Unique in the process.
    label : str
        What the model is called.
    nodes : sequence of NodeCard
        Empty where they are forgotten.
    due_after_ns : int
        What its queries are, unless they say otherwise; 0: they are not due.
    priority : int
    best_effort : bool
    is_gone : bool
        Whether the plan is no more: its model has another one, or is closed.
    """

    number: int
    label: str
    nodes: Sequence[NodeCard] = ()
    due_after_ns: int = 0
    priority: int = 0
    best_effort: bool = False
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class FlownRun:
    """A query that has ended, on ``time.monotonic_ns``'s clock.

    Parameters
    ----------
    plan, arrival : int
        Number of its plan, and its own among the queries of the machine.
    begun_ns, due_ns, end_ns : int
        When the core got it, when it was due (0: it was not), when it ended.
    outcome : int
    """

    plan: int
    arrival: int
    begun_ns: int
    due_ns: int
    end_ns: int
    outcome: int

    @property
    def latency_ns(self) -> int:
        """From the core's call to its end."""
        return self.end_ns - self.begun_ns

    @property
    def late_ns(self) -> int:
        """By how much it missed; 0 if it did not."""
        return max(0, self.end_ns - self.due_ns) if self.due_ns else 0


@dataclass(frozen=True)
class Flights:
    """Records of one machine.

    Parameters
    ----------
    now_ns : int
        When they were read.
    since_ns : int
        From then on they are there, but for what later ones took the place of.
    devices : sequence of (str, int)
        Name and lanes of each.
    nodes : array (n, 8)
        ``NodeField``; those that ran.
    runs : array (m, 6)
        Plan, arrival, begun, due, end, outcome.
    plans : mapping of int to PlanCard
        By number; the last ones that are gone among them.
    reaches_ns : mapping of (int, int) to int
        By device and kind of lane: since when no record of a lane was lost.
    lost_before_ns : mapping of int to int
        By number of plan: before then runs of it were lost; 0: none was.
    waits : array (n, 8)
        ``NodeField``; what lanes waited for other processes before a node of that run. Instead of
        the node it is -1 less the number of the process.
    processes : sequence of str
        By number.
    """

    now_ns: int
    since_ns: int
    devices: Sequence[tuple[str, int]]
    nodes: Table
    runs: Table
    plans: Mapping[int, PlanCard]
    reaches_ns: Mapping[tuple[int, int], int] = field(default_factory=dict)
    lost_before_ns: Mapping[int, int] = field(default_factory=dict)
    waits: Table = field(default_factory=lambda: np.empty((0, 8), np.int64))
    processes: Sequence[str] = ()

    @cached_property
    def by_start(self) -> Table:
        """The nodes in the order of their starts."""
        order = np.argsort(self.nodes[:, NodeField.START], kind="stable")
        ordered: Table = self.nodes[order]
        return ordered

    @cached_property
    def _latest_end(self) -> Table:
        latest: Table = np.maximum.accumulate(self.by_start[:, NodeField.END])
        return latest

    def between(self, start_ns: int, end_ns: int) -> Table:
        """Nodes that ran at some time from one moment to another, by start."""
        first = int(np.searchsorted(self._latest_end, start_ns, side="right"))
        last = int(np.searchsorted(self.by_start[:, NodeField.START], end_ns, side="left"))
        found = self.by_start[first:last]
        overlapping: Table = found[found[:, NodeField.END] > start_ns]
        return overlapping

    def waits_between(self, start_ns: int, end_ns: int) -> Table:
        """Waits for other processes at some time from one moment to another."""
        begun = self.waits[:, NodeField.START] < end_ns
        overlapping: Table = self.waits[begun & (self.waits[:, NodeField.END] > start_ns)]
        return overlapping

    def process(self, node: int) -> str:
        """What people know the process by that ``waits`` names so instead of a node."""
        number = -1 - node
        known = self.processes[number] if number < len(self.processes) else "others"
        return f"process {known}"

    def runs_of(self, plans: Iterable[int], since_ns: int = 0) -> list[FlownRun]:
        """Runs of these plans that ended since then, by their end."""
        rows = (row for plan in plans for row in self._runs_by_plan.get(plan, ()))
        found = (FlownRun(*row) for row in rows)
        return sorted((r for r in found if r.end_ns >= since_ns), key=lambda run: run.end_ns)

    @cached_property
    def _runs_by_plan(self) -> Mapping[int, Sequence[Sequence[int]]]:
        found: dict[int, list[Sequence[int]]] = {}
        for row in self.runs.tolist():
            found.setdefault(row[0], []).append(row)
        return found

    def runs_reach_ns(self, plans: Iterable[PlanCard]) -> int:
        """Since when all of these plans' runs that ended are known."""
        return max(self.since_ns, *(self.lost_before_ns.get(card.number, 0) for card in plans))

    def label(self, plan: int) -> str:
        """What people know the model of a plan by."""
        card = self.plans.get(plan)
        return card.label if card is not None and card.label else f"plan {plan}"

    @cached_property
    def by_label(self) -> Mapping[str, Sequence[PlanCard]]:
        """Plans of each model, in the order of their numbers."""
        found: dict[str, list[PlanCard]] = {}
        for number in sorted(self.plans):
            found.setdefault(self.label(number), []).append(self.plans[number])
        return found

    def usual_ns(self, plan: int, node: int) -> int:
        """What a node usually takes: the median of those recorded, or else what was planned.

        As long as fewer than five were recorded, the plan's word counts.
        """
        known = self._usual.get((plan, node))
        if known is not None:
            return known
        card = self.plans.get(plan)
        planned = card.nodes[node].service_ns if card is not None and card.nodes else 0
        return planned

    def width(self, plan: int, node: int) -> int:
        """How many lanes a node occupies; 1 where its plan is not known any more."""
        card = self.plans.get(plan)
        return max(1, card.nodes[node].width) if card and node < len(card.nodes) else 1

    @cached_property
    def _usual(self) -> Mapping[tuple[int, int], int]:
        taken: dict[tuple[int, int], list[int]] = {}
        f = NodeField
        for plan, node, start, end in self.nodes[:, (f.PLAN, f.NODE, f.START, f.END)].tolist():
            taken.setdefault((plan, node), []).append(end - start)
        return {key: _median(times) for key, times in taken.items() if len(times) >= _ENOUGH}


_ENOUGH = 5


def _median(times: list[int]) -> int:
    return sorted(times)[(len(times) - 1) // 2]


def flights_of(
    document: Mapping[str, Any],
    devices: Sequence[tuple[str, int]],
    cards: Mapping[int, Sequence[NodeCard]],
    since_ns: int,
) -> Flights:
    """Read what ``_core.Machine.flights`` returned.

    Parameters
    ----------
    cards : mapping of int to sequence of NodeCard
        Nodes of plans, as far as they are known.
    since_ns : int
        What was asked for.
    """
    plans: dict[int, PlanCard] = {}
    for row in document["plans"]:
        number = row["number"]
        urgency = row["due_after_ns"], row["priority"], row["best_effort"], row["is_gone"]
        plans[number] = PlanCard(number, row["label"], cards.get(number, ()), *urgency)
    tables = [
        np.column_stack((np.full(len(row["runs"]), row["number"], np.int64), row["runs"]))
        for row in document["plans"]
    ]
    reaches: dict[tuple[int, int], int] = {}
    for device, kind, _, reaches_ns in document["rings"].tolist():
        reaches[device, kind] = max(reaches.get((device, kind), 0), reaches_ns)
    nodes = document["nodes"]
    ran = nodes[:, NodeField.NODE] >= 0
    return Flights(
        document["now_ns"],
        max(since_ns, document["on_since_ns"]),
        devices,
        nodes[ran],
        np.concatenate(tables) if tables else np.empty((0, 6), np.int64),
        plans,
        reaches,
        {row["number"]: row["lost_before_ns"] for row in document["plans"]},
        nodes[~ran],
        document["processes"],
    )
