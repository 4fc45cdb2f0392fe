"""A device with the services that are loaded on it, and its sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.policies.dstack.scoreboard import Scoreboard
from surplus.colocation.policies.dstack.session_plan import Turn
from surplus.colocation.policies.dstack.timetable import Timetable


@dataclass(frozen=True)
class Instance:
    """A loaded service: where, how wide, and its planned batch."""

    service: int
    partition: int
    share_percent: int
    batch: int
    took_ns: int


@dataclass
class LoadedGpu:
    """A device while a deployment serves.

    Parameters
    ----------
    index : int
    instances : dict of int to list of Instance
        By service, widest first.
    planned : list of Instance
        The widest of each service: ``Turn.runner`` counts these.
    table : Timetable
    board : Scoreboard
    began_ns : dict of int to int
        Last start of each service.
    """

    index: int
    instances: dict[int, list[Instance]]
    planned: list[Instance]
    table: Timetable
    board: Scoreboard
    began_ns: dict[int, int] = field(default_factory=dict)

    def needs(self, turn: Turn, period_ns: int) -> bool:
        """Whether a service, when the turn starts, will have begun no run for a whole period."""
        began_ns = self.began_ns.get(self.planned[turn.runner].service)
        return began_ns is None or began_ns + period_ns <= turn.start_ns

    def started(self, service: int, now_ns: int) -> None:
        """Count a run."""
        self.began_ns[service] = now_ns
        self.board.ran(service, self.table.session(now_ns))


def loaded_gpus(
    deployment: Deployment,
    table_of: Callable[[list[Instance]], Timetable],
    sessions: int,
    before: Mapping[int, LoadedGpu],
) -> dict[int, LoadedGpu]:
    """Sort a deployment by device; scores and last starts go on from those before."""
    by_gpu: dict[int, dict[int, list[Instance]]] = {}
    for assignment in deployment.assignments:
        own = _instance(deployment, assignment)
        device = deployment.partitions[own.partition].device
        by_gpu.setdefault(device, {}).setdefault(own.service, []).append(own)
    found = {}
    for index, instances in sorted(by_gpu.items()):
        for rows in instances.values():
            rows.sort(key=lambda own: (-own.share_percent, own.partition))
        planned = [instances[service][0] for service in sorted(instances)]
        known = before.get(index)
        board = known.board if known else Scoreboard(sessions)
        began_ns = known.began_ns if known else {}
        found[index] = LoadedGpu(index, instances, planned, table_of(planned), board, began_ns)
    return found


def _instance(deployment: Deployment, assignment: Assignment) -> Instance:
    share_percent = deployment.partitions[assignment.partition].share_percent
    place = (assignment.service, assignment.partition, share_percent)
    return Instance(*place, assignment.batch, assignment.took_ns)
