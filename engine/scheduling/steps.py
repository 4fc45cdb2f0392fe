"""What the backend knows of groups that run, of queries that rest, and of partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Group
from surplus.engine import _core
from surplus.engine.scheduling.live_model import LiveModel
from surplus.engine.scheduling.parts import Part
from surplus.engine.scheduling.place import Place
from surplus.engine.segmentation.plan_part import Resting

Values = Mapping[Resting, _core.Value | None]


class RestingQueries(NamedTuple):
    """What queries need to go on: who they are together, from where, and their tensors."""

    company: tuple[int, ...]
    at: int
    values: Values


class RunStep(NamedTuple):
    """A run to be: some queries of a piece."""

    model: LiveModel
    queries: tuple[Query, ...]
    start: int
    end: int
    version: int


class StartedRun(NamedTuple):
    """A run in flight, and what it reads."""

    job: Job
    step: RunStep
    part: Part
    values: Values


@dataclass
class Job:
    """A group that runs: what of it waits for one of its partition's lanes, and what runs."""

    group: Group
    waiting: list[RunStep]
    running: int = 0
    error: str = ""


@dataclass(frozen=True)
class Slot:
    """A partition: where it is, and how many runs it computes side by side.

    ``cores`` are those that its groups claim one by one, 0 if they hold all of it.
    """

    machine: _core.Machine
    place: Place
    lanes: int
    cores: int = 0

    def lanes_of(self, group: Group) -> int:
        """Lanes that a group has; one of a core that is no whole lane."""
        return max(1, self.lanes * group.cores // self.cores) if self.cores else self.lanes
