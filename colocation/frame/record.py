"""Everything that happened in a run, in columns of integers: millions of queries fit."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

from surplus.colocation.frame.change import Change
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.work import Group

NEVER_NS = -1
"""An end that did not come, a prediction that was not made."""


class Record:
    """Written by the controller, read by the validator, the metrics and the charts.

    Parameters
    ----------
    queries : int
        How many there will be; their columns are indexed by ``Query.id``.
    timer : callable
        Nanoseconds of a monotonic clock, to time decisions.

    Attributes
    ----------
    outcome, ended_ns, predicted_end_ns
        By query: what became of it, when, and when a dropped one was predicted to end.
    group_start_ns, group_end_ns, group_partition, group_predicted_ns, group_cores, group_version
        By group; the cores that it started with.
    resizes : list of (int, int, int)
        When which group went on with how many cores.
    piece_group, piece_service, piece_start, piece_end, piece_items, piece_first, piece_count
        By piece; its queries are ``piece_query[first : first + count]``.
    piece_query
        Indices of queries, piece after piece.
    views : list of (int, Deployment)
        Since when which partitions were open to which services; empty if that never changed.
    changes : list of (int, Change)
        When devices and services went and came.
    decisions, deciding_ns, longest_decision_ns, starting_ns
        Events that the dispatcher thought about, and the wall time that it took, in all and at
        most; and the wall time from events to the starts of groups that they led to.
    plans, planning_ns, longest_plan_ns
        How often the planner was asked again, and the wall time that it took.
    """

    def __init__(self, queries: int, timer: Callable[[], int] = time.perf_counter_ns) -> None:
        self.timer = timer
        self.outcome = array("b", bytes(queries))
        self.ended_ns = array("q", [NEVER_NS]) * queries
        self.predicted_end_ns = array("q", [NEVER_NS]) * queries
        self.group_start_ns = array("q")
        self.group_end_ns = array("q")
        self.group_partition = array("q")
        self.group_predicted_ns = array("q")
        self.group_cores = array("q")
        self.group_version = array("q")
        self.resizes: list[tuple[int, int, int]] = []
        self.piece_group = array("q")
        self.piece_service = array("q")
        self.piece_start = array("q")
        self.piece_end = array("q")
        self.piece_items = array("q")
        self.piece_first = array("q")
        self.piece_count = array("q")
        self.piece_query = array("q")
        self.decisions = 0
        self.deciding_ns = 0
        self.starting_ns = 0
        self.longest_decision_ns = 0
        self.views: list[tuple[int, Deployment]] = []
        self.changes: list[tuple[int, Change]] = []
        self.plans = 0
        self.planning_ns = 0
        self.longest_plan_ns = 0

    def ended(self, query: Query, outcome: Outcome, when_ns: int) -> None:
        """Book the end of a query.

        Raises
        ------
        RuntimeError
            If it has ended before.
        """
        if self.outcome[query.id]:
            raise RuntimeError(f"query {query.id} ends twice")
        self.outcome[query.id] = outcome
        self.ended_ns[query.id] = when_ns

    def missed(self, query: Query, predicted_end_ns: int) -> None:
        """Book why a query was dropped."""
        self.predicted_end_ns[query.id] = predicted_end_ns

    def group_started(self, group: Group) -> None:
        """Book a group; groups come in order of their index."""
        self.group_start_ns.append(group.start_ns)
        self.group_end_ns.append(NEVER_NS)
        self.group_partition.append(group.partition)
        self.group_predicted_ns.append(group.predicted_ns)
        self.group_cores.append(group.cores)
        self.group_version.append(group.version)
        for piece in group.pieces:
            self.piece_group.append(group.id)
            self.piece_service.append(piece.service)
            self.piece_start.append(piece.start)
            self.piece_end.append(piece.end)
            self.piece_items.append(piece.items)
            self.piece_first.append(len(self.piece_query))
            self.piece_count.append(len(piece.queries))
            for query in piece.queries:
                self.piece_query.append(query.id)

    def group_resized(self, group: Group, when_ns: int) -> None:
        """Book the cores that a group goes on with."""
        self.resizes.append((when_ns, group.id, group.cores))

    def group_ended(self, group: Group, when_ns: int) -> None:
        """Book the end of a group."""
        self.group_end_ns[group.id] = when_ns

    def decided(self, elapsed_ns: int, starting_ns: int) -> None:
        """Book how long the dispatcher thought about an event, and until it started groups.

        ``starting_ns`` is 0 if it started none.
        """
        self.decisions += 1
        self.deciding_ns += elapsed_ns
        self.starting_ns += starting_ns
        if elapsed_ns > self.longest_decision_ns:
            self.longest_decision_ns = elapsed_ns

    def opened(self, view: Deployment, when_ns: int) -> None:
        """Book which partitions are open from now on."""
        self.views.append((when_ns, view))

    def changed(self, change: Change, when_ns: int) -> None:
        """Book a change of devices or services."""
        self.changes.append((when_ns, change))

    def planned(self, elapsed_ns: int) -> None:
        """Book how long the planner thought, asked again."""
        self.plans += 1
        self.planning_ns += elapsed_ns
        self.longest_plan_ns = max(self.longest_plan_ns, elapsed_ns)
