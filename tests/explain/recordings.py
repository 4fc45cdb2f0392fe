"""Recordings made by hand: models of one node a segment, on one device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surplus.engine.explain.flights import OK, Flights, FlownRun, LaneKind, NodeCard, PlanCard


def card(
    number: int, label: str, *names: str, width: int = 1, service_ns: int = 0, due_after_ns: int = 0
) -> PlanCard:
    """A chain of nodes."""
    nodes = tuple(
        NodeCard(name, False, 0, width, service_ns, (i - 1,) if i else ())
        for i, name in enumerate(names)
    )
    return PlanCard(number, label, nodes, due_after_ns)


@dataclass
class Recording:
    """What a machine of one CPU recorded; add to it, then read ``flights``."""

    cards: Sequence[PlanCard]
    lanes: int = 1
    now_ns: int = 1_000
    nodes: list[tuple[int, ...]] = field(default_factory=list)
    runs: list[FlownRun] = field(default_factory=list)
    reaches_ns: dict[tuple[int, int], int] = field(default_factory=dict)
    lost_before_ns: dict[int, int] = field(default_factory=dict)
    waits: list[tuple[int, ...]] = field(default_factory=list)

    def ran(
        self,
        plan: int,
        arrival: int,
        *times: tuple[int, int],
        lane: int = 0,
        kind: LaneKind = LaneKind.LANE,
        first: int = 0,
    ) -> None:
        """Nodes of a run, from number ``first`` on."""
        for node, (start, end) in enumerate(times, first):
            self.nodes.append((0, kind, arrival, plan, node, lane, start, end))

    def waited(self, plan: int, arrival: int, times: tuple[int, int], lane: int = 0) -> None:
        """A lane waited for the process ``other (7)`` before a node of that run."""
        self.waits.append((0, LaneKind.LANE, arrival, plan, -2, lane, *times))

    def ended(
        self, plan: int, arrival: int, begun: int, end: int, due: int = 0, outcome: int = OK
    ) -> FlownRun:
        run = FlownRun(plan, arrival, begun, due, end, outcome)
        self.runs.append(run)
        return run

    @property
    def flights(self) -> Flights:
        runs = [(r.plan, r.arrival, r.begun_ns, r.due_ns, r.end_ns, r.outcome) for r in self.runs]
        return Flights(
            self.now_ns,
            0,
            [("cpu", self.lanes)],
            np.array(self.nodes, np.int64).reshape(-1, 8),
            np.array(runs, np.int64).reshape(-1, 6),
            {card.number: card for card in self.cards},
            self.reaches_ns,
            self.lost_before_ns,
            np.array(self.waits, np.int64).reshape(-1, 8),
            ("others", "other (7)"),
        )
