"""How fast a machine was during a live run, second by second, as the run's own groups tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from surplus.colocation import Scenario
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.record import NEVER_NS, Record
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.simulation.simulator import Run
from surplus.colocation.truths.truth import Pace

WINDOW_NS = NS_PER_S


class Timed(NamedTuple):
    """A group: the services of its pieces, its start and time, and what the profile says."""

    services: tuple[int, ...]
    start_ns: int
    took_ns: int
    profiled_ns: float

    def at(self, factor: float) -> Timed:
        """The same with another profile."""
        return self._replace(profiled_ns=self.profiled_ns * factor)


def pace_of(scenario: Scenario, run: Run, window_ns: int = WINDOW_NS) -> Pace:
    """Time of groups over that of the profile: by service, and what is left by window of starts.

    Groups of several pieces have a factor of their own, beside the mean of their services'. A
    window without groups is like the one before it. What neighbours cost each other is in it.
    """
    groups = list(_timed(scenario, run))
    alone = [own for own in groups if len(own.services) == 1]
    overall = _ratio(alone) or _ratio(groups) or 1.0
    services = tuple(
        _ratio(own for own in alone if own.services == (service,)) or overall
        for service in range(len(scenario.services))
    )
    groups = [own.at(fmean(services[k] for k in own.services)) for own in groups]
    together = _ratio(own for own in groups if len(own.services) > 1) or 1.0
    by_window: dict[int, list[Timed]] = {}
    for own in groups:
        left = own.at(together) if len(own.services) > 1 else own
        by_window.setdefault(own.start_ns // window_ns, []).append(left)
    factors = [1.0]
    for window in range(max(by_window, default=0) + 1):
        factors.append(_ratio(by_window.get(window, ())) or factors[-1])
    return Pace(window_ns, tuple(factors[1:]), services, together)


def _ratio(timed: Iterable[Timed]) -> float:
    """Sum of the times over that of the profile's; 0 if there are none."""
    rows = list(timed)
    profiled_ns = sum(own.profiled_ns for own in rows)
    return sum(own.took_ns for own in rows) / profiled_ns if rows else 0.0


def _timed(scenario: Scenario, run: Run) -> Iterator[Timed]:
    """Groups that ended, beside what a truth without noise says of them."""
    plain = replace(scenario, noise=lambda draw, spread: 1.0, interference=None)
    truth = plain.setting().truth
    for group in _groups(run.record):
        end_ns = run.record.group_end_ns[group.id]
        if end_ns == NEVER_NS:
            continue
        partition = run.deployment.partitions[group.partition]
        services = tuple(piece.service for piece in group.pieces)
        took_ns = end_ns - group.start_ns
        yield Timed(
            services,
            group.start_ns,
            took_ns,
            truth.group_ns(group, partition.share_of(group.cores)),
        )


def _groups(record: Record) -> list[Group]:
    """The groups of a run; all that is left of their queries is how many items they brought."""
    pieces: list[list[Piece]] = [[] for _ in record.group_start_ns]
    for k, group in enumerate(record.piece_group):
        service, items = record.piece_service[k], record.piece_items[k]
        queries = (Query(0, service, 0, 0, 0, items),)
        ends = (record.piece_start[k], record.piece_end[k])
        pieces[group].append(Piece(service, queries, *ends, items, 0))
    return [
        Group(
            number,
            record.group_partition[number],
            tuple(own),
            record.group_start_ns[number],
            record.group_predicted_ns[number],
            record.group_cores[number],
            record.group_version[number],
        )
        for number, own in enumerate(pieces)
    ]
