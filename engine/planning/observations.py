"""What measured plans teach: service times of segments, all on the clock of the first contest.

A machine that has changed its speed since must teach nothing wrong. Every contest holds a plan
that ran before; how long that takes now, round by round, says how fast the machine is.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from surplus.engine.contest.contest import Contest
from surplus.engine.contest.in_place import costs_in_place, outside_ns
from surplus.engine.planning.proposals import Key, key_of
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import TaskGroup
from surplus.engine.segmentation.learning import learn
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes


class Observations:
    """Everything observed so far, and the service times that follow from it.

    Parameters
    ----------
    first_guess : ServiceTimes
        From the profile.
    fixed_devices : collection of int
        Devices whose times are given.
    """

    def __init__(self, first_guess: ServiceTimes, fixed_devices: Collection[int]) -> None:
        self._first_guess = first_guess
        self._fixed_devices = fixed_devices
        self._wall_ns: dict[Key, int] = {}
        self._observed: dict[TaskGroup, int] = {}
        self._charged: dict[TaskGroup, int] = {}
        self._outside_ns = 0
        self.service = first_guess

    def predicted_ns(self, candidate: Candidate) -> int:
        """Time of a query, what it spends outside of the core included.

        One of a split batch is taken to last as long as it did when measured: its tasks are of
        another graph, and teach nothing of this one.
        """
        if candidate.shards is not None:
            known_ns = self._wall_ns.get(key_of(candidate))
            return known_ns or candidate.predicted.makespan_ns + self._outside_ns
        spans = predict(candidate.graph, self.service, order=candidate.order)
        return spans.makespan_ns + self._outside_ns

    def makespan_goal_ns(self, query_ns: float) -> float:
        """The makespan of a plan whose query is to take so long."""
        return query_ns - self._outside_ns

    def measured_ns(self, contest: Contest, candidates: Sequence[Candidate], index: int) -> int:
        """Time of a contender's query on the clock of the first contest."""
        speeds = self._speeds(contest, candidates)
        played = [
            row[index].wall_ns * speed
            for row, speed in zip(contest.rounds, speeds, strict=True)
            if index in row
        ]
        return round(statistics.median(played))

    def take(self, contest: Contest, candidates: Sequence[Candidate]) -> None:
        """Learn from a contest of these candidates."""
        speeds = self._speeds(contest, candidates)
        walls = {
            key_of(candidate): self.measured_ns(contest, candidates, index)
            for index, candidate in enumerate(candidates)
        }
        for index, candidate in enumerate(candidates):
            self._observe(contest, candidate, index, speeds)
        self._wall_ns = walls | self._wall_ns
        self._outside_ns = round(
            outside_ns(contest.turns(contest.winner)) * statistics.median(speeds)
        )
        self.service = learn(replace(self._first_guess, measured=self._charged), self._observed)

    def _speeds(self, contest: Contest, candidates: Sequence[Candidate]) -> list[float]:
        """Of each round: what known plans took at first over what they take in it."""
        known = self._known(contest, candidates)
        return [
            statistics.median(
                wall_ns / max(1, row[index].wall_ns)
                for index, wall_ns in known.items()
                if index in row
            )
            for row in contest.rounds
        ]

    def _known(self, contest: Contest, candidates: Sequence[Candidate]) -> Mapping[int, int]:
        """Times of known plans by index; at first, of the plan to beat, which plays every round."""
        if not self._wall_ns:
            walls = [turn.wall_ns for turn in contest.turns(contest.to_beat)]
            return {contest.to_beat: round(statistics.median(walls))}
        return {
            index: self._wall_ns[key_of(candidate)]
            for index, candidate in enumerate(candidates)
            if key_of(candidate) in self._wall_ns
        }

    def _observe(
        self, contest: Contest, candidate: Candidate, index: int, speeds: Sequence[float]
    ) -> None:
        if candidate.shards is not None:
            return
        rows: dict[int, list[float]] = {}
        for row, speed in zip(contest.rounds, speeds, strict=True):
            if index in row:
                costs = costs_in_place(candidate.graph, self._first_guess, row[index])
                for segment, cost in costs.items():
                    rows.setdefault(segment, []).append(cost.total_ns * speed)
        for segment, times in rows.items():
            group = candidate.graph.groups[segment]
            is_fixed = group.device in self._fixed_devices
            # What a segment is charged says nothing of others, but its hand-over counts.
            (self._charged if is_fixed else self._observed)[group] = round(statistics.median(times))
