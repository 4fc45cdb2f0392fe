"""An independent judge of runs: it shares no code with the controller or the simulator.

It knows only what a schedule means: a partition runs one group at a time, a device gives away no
more than itself, a query runs its operators in order, once each, after it came, and ends once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from math import inf, lcm

from surplus.colocation.frame.change import ChangeKind
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import NEVER_NS, Record
from surplus.colocation.frame.service import Partition, Service

Places = set[tuple[int, int]]
"""Services and the partitions that they may start in."""


class RunRule(StrEnum):
    """What a run can break."""

    OVERLAP = "overlap"
    """Two groups at once in a partition."""
    SHARE = "share"
    """A device that gives away more than 100 % at some time."""
    PLACE = "place"
    """A service in a partition that it is not assigned to, or a partition that is not there."""
    LOST = "lost"
    """A group on a device that is away, or one that outlives its device."""
    BATCH = "batch"
    """More items in a batch than the service allows, or not those of its queries."""
    EARLY = "early"
    """A start before the query came, or before its operators so far have ended."""
    OPERATORS = "operators"
    """Operators that run twice, not at all, or out of order."""
    OUTCOME = "outcome"
    """An outcome that does not agree with what ran and when."""


@dataclass(frozen=True)
class RunViolation:
    """A broken rule and where it was broken."""

    rule: RunRule
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def check_run(
    load: Load, services: Sequence[Service], deployment: Deployment, record: Record
) -> None:
    """Raise ValueError, naming the first violations, unless the run is valid."""
    found = validate_run(load, services, deployment, record)
    if found:
        shown = "; ".join(map(str, found[:3]))
        raise ValueError(f"{len(found)} violations: {shown}")


def validate_run(
    load: Load, services: Sequence[Service], deployment: Deployment, record: Record
) -> list[RunViolation]:
    """List what is wrong with a run; empty if nothing is."""
    judge = _Judge(load, services, deployment, record)
    found = [*judge.partitions(), *judge.devices(), *judge.losses(), *judge.pieces()]
    return [*found, *judge.queries()]


class _Judge:
    def __init__(
        self, load: Load, services: Sequence[Service], deployment: Deployment, record: Record
    ) -> None:
        self._load = load
        self._services = services
        self._deployment = deployment
        self._record = record
        self._ran: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)

    def partitions(self) -> Iterator[RunViolation]:
        """One group at a time in each partition; a group without an end runs on for ever."""
        rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        record = self._record
        for group, partition in enumerate(record.group_partition):
            start_ns, end_ns = record.group_start_ns[group], record.group_end_ns[group]
            if end_ns != NEVER_NS and end_ns < start_ns:
                yield RunViolation(RunRule.EARLY, f"group {group} ends before it starts")
            rows[partition].append((start_ns, end_ns))
        for partition, spans in sorted(rows.items()):
            if not 0 <= partition < len(self._deployment.partitions):
                yield RunViolation(RunRule.PLACE, f"there is no partition {partition}")
            free_ns: int | None = 0
            for start_ns, end_ns in sorted(spans):
                if free_ns is None or start_ns < free_ns:
                    text = f"partition {partition} starts a group at {start_ns} ns, not yet free"
                    yield RunViolation(RunRule.OVERLAP, text)
                free_ns = None if end_ns == NEVER_NS else end_ns

    def devices(self) -> Iterator[RunViolation]:
        """Shares of the partitions in use, at every start and whenever cores are added."""
        changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        partitions, record = self._deployment.partitions, self._record
        parts = lcm(*(max(1, partition.cores) for partition in partitions))
        resizes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for when_ns, group, cores in record.resizes:
            resizes[group].append((when_ns, cores))
        for group, index in enumerate(record.group_partition):
            if 0 <= index < len(partitions):
                steps = [(record.group_start_ns[group], record.group_cores[group])]
                steps += resizes.get(group, ())
                held = _held(partitions[index], parts, steps, record.group_end_ns[group])
                changes[partitions[index].device] += held
        for device, rows in sorted(changes.items()):
            used = 0
            for when_ns, step in sorted(rows):
                used += step
                if used > 100 * parts:
                    text = f"device {device} gives away {used / parts:g} % at {when_ns} ns"
                    yield RunViolation(RunRule.SHARE, text)

    def pieces(self) -> Iterator[RunViolation]:
        """Every piece by itself; remembers what ran of each query."""
        record = self._record
        views = self._views()
        for piece, group in enumerate(record.piece_group):
            service = record.piece_service[piece]
            first, count = record.piece_first[piece], record.piece_count[piece]
            queries = record.piece_query[first : first + count]
            start_ns, end_ns = record.group_start_ns[group], record.group_end_ns[group]
            place = (service, record.group_partition[group])
            if not any(place in view for view in _in_force(views, start_ns)):
                text = f"service {service} ran in partition {place[1]} at {start_ns} ns"
                yield RunViolation(RunRule.PLACE, text)
            yield from self._batch(piece, list(queries))
            row = (start_ns, end_ns, record.piece_start[piece], record.piece_end[piece])
            for query in queries:
                self._ran[query].append(row)

    def _views(self) -> list[tuple[int, Places]]:
        """Who was allowed where, since when."""
        rows = [(0, self._deployment), *self._record.views]
        return [(t, {(a.service, a.partition) for a in view.assignments}) for t, view in rows]

    def losses(self) -> Iterator[RunViolation]:
        """Nothing starts on a device that is away, and what ran there ended with it."""
        record, partitions = self._record, self._deployment.partitions
        absences: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for device, lost_ns, back_ns in _absences(record):
            absences[device].append((lost_ns, inf if back_ns is None else back_ns))
        for group, index in enumerate(record.group_partition):
            if not 0 <= index < len(partitions):
                continue
            device = partitions[index].device
            start_ns, end_ns = record.group_start_ns[group], record.group_end_ns[group]
            until_ns = inf if end_ns == NEVER_NS else end_ns
            for lost_ns in _lost_between(absences.get(device, ()), start_ns, until_ns):
                text = f"group {group}, {start_ns} to {end_ns} ns: device {device} is lost"
                yield RunViolation(RunRule.LOST, f"{text} at {lost_ns} ns")

    def _batch(self, piece: int, queries: list[int]) -> Iterator[RunViolation]:
        service = self._record.piece_service[piece]
        items = sum(int(self._load.items[query]) for query in queries)
        most = self._services[service].max_batch
        if not 0 < items <= most or items != self._record.piece_items[piece]:
            text = f"piece {piece}: {self._record.piece_items[piece]} items said, {items} are in it"
            yield RunViolation(RunRule.BATCH, f"{text}, at most {most} are allowed")
        if any(self._load.service[query] != service for query in queries):
            yield RunViolation(RunRule.BATCH, f"piece {piece} mixes services")

    def queries(self) -> Iterator[RunViolation]:
        """What ran of each query, in order, and how it ended. Call after ``pieces``."""
        outcomes = self._record.outcome
        if len(outcomes) != len(self._load):
            text = f"{len(self._load)} queries came, {len(outcomes)} are accounted for"
            yield RunViolation(RunRule.OUTCOME, text)
            return
        arrivals, services = self._load.arrival_ns.tolist(), self._load.service.tolist()
        deadlines = self._load.deadline_ns.tolist()
        for query, outcome in enumerate(outcomes):
            rows = sorted(self._ran.get(query, ()))
            free_ns, done = arrivals[query], 0
            for start_ns, end_ns, start, end in rows:
                if free_ns == NEVER_NS or start_ns < free_ns:
                    yield RunViolation(RunRule.EARLY, f"query {query} starts at {start_ns} ns")
                if start != done:
                    text = f"query {query} runs operator {start}, {done} is next"
                    yield RunViolation(RunRule.OPERATORS, text)
                free_ns, done = end_ns, end
            whole = done == self._services[services[query]].operators and bool(rows)
            ended_ns = self._record.ended_ns[query]
            text = _disagreement(outcome, whole, bool(rows), ended_ns, free_ns, deadlines[query])
            if text:
                yield RunViolation(
                    RunRule.OUTCOME, f"query {query} is {Outcome(outcome).name}, {text}"
                )


def _held(
    partition: Partition, parts: int, steps: Sequence[tuple[int, int]], end_ns: int
) -> Iterator[tuple[int, int]]:
    """How what a group holds of its device changes with its cores, and ends.

    In parts of a percent, so many that cores divide them.
    """
    before = 0
    whole = partition.share_percent * parts
    for when_ns, cores in steps:
        held = whole * cores // partition.cores if partition.cores else whole
        yield when_ns, held - before
        before = held
    if end_ns != NEVER_NS:
        yield end_ns, -before


def _in_force(views: list[tuple[int, Places]], when_ns: int) -> Iterator[Places]:
    """The views of an instant: the last one before it, and those of the same instant."""
    first = max(0, bisect_left(views, when_ns, key=lambda row: row[0]) - 1)
    for since_ns, places in islice(views, first, None):
        if since_ns > when_ns:
            return
        yield places


def _absences(record: Record) -> Iterator[tuple[int, int, int | None]]:
    """Device, when it was lost, when it was back (None: never)."""
    lost: dict[int, int] = {}
    for when_ns, change in record.changes:
        if change.kind is ChangeKind.DEVICE_LOST:
            lost.setdefault(change.subject, when_ns)
        elif change.kind is ChangeKind.DEVICE_BACK and change.subject in lost:
            yield change.subject, lost.pop(change.subject), when_ns
    yield from ((device, since_ns, None) for device, since_ns in lost.items())


def _lost_between(
    absences: Sequence[tuple[int, float]], start_ns: int, until_ns: float
) -> Iterator[int]:
    """When a device was lost, of its absences (in order) that a group began or went on in."""
    following = bisect_left(absences, start_ns, key=lambda row: row[0])
    for lost_ns, back_ns in islice(absences, max(0, following - 1), None):
        if lost_ns < start_ns:
            if start_ns < back_ns:
                yield lost_ns
        elif lost_ns < until_ns:
            yield lost_ns
        else:
            return


def _disagreement(
    outcome: int, whole: bool, began: bool, ended_ns: int, free_ns: int, deadline_ns: int
) -> str:
    """Why an outcome cannot be; empty if it can."""
    running = began and free_ns == NEVER_NS
    if outcome in (Outcome.IN_TIME, Outcome.LATE):
        if not whole or running:
            return "but did not run to its end"
        if ended_ns != free_ns:
            return f"ended at {ended_ns} ns, but ran until {free_ns} ns"
        if (ended_ns <= deadline_ns) != (outcome == Outcome.IN_TIME):
            return f"ended at {ended_ns} ns, was due at {deadline_ns} ns"
        return ""
    if outcome == Outcome.UNFINISHED:
        return "but ran to its end" if whole and not running else ""
    if ended_ns == NEVER_NS or ended_ns < free_ns or running:
        return f"ended at {ended_ns} ns, but was there until {free_ns} ns"
    if outcome == Outcome.FAILED:
        return "" if began else "but never ran"
    if whole or (began and outcome == Outcome.REJECTED):
        return "but ran"
    return ""
