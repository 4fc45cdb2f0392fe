"""The holds that let a runtime keep to a schedule which idles on purpose.

Where the runtime, by simulation, is done later than planned, whoever started before something more
urgent of his device or link was ready is held behind that, the first of them at first. With all of
them held, tasks and copies go in the planned orders, each as early as these allow: so nothing is
later than planned. Then holds without which the query is done in time are left out, one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.placement.evaluator import Schedule, unchecked_schedule
from surplus.placement.holds import CopyHold, Hold, copy_rank
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.topological_ranks import topological_ranks

AnyHold = Hold | CopyHold


def with_holds(
    problem: Problem,
    placement: Placement,
    planned: Timeline,
    is_over: Callable[[], bool] = lambda: False,
) -> Placement:
    """The placement with no more holds than a runtime needs to be done as early as planned.

    Parameters
    ----------
    planned : Timeline
        A valid schedule of one query, whose orders of tasks and copies are to be kept. On a device
        with streams (streams.py) no more than the order can be: nothing promises the times.
    is_over : callable
        Asked again and again: whether the holds that there are must do.

    Returns
    -------
    Placement
        Its priorities are the order of the planned starts. Where the planned makespan is beyond
        reach, it is the shortest that was found.
    """
    search = _Search(problem, _ranked(problem, placement, planned), planned)
    holds: list[AnyHold] = []
    best, best_ns = holds, search.makespan_ns(holds)
    batch = 1
    while best_ns > planned.makespan_ns and not is_over():
        more = search.wanted(holds, batch)
        if not more:
            break
        holds = [*holds, *more]
        if (makespan_ns := search.makespan_ns(holds)) < best_ns:
            best, best_ns = holds, makespan_ns
        batch *= 2
    return search.placement(search.needed(best, best_ns, is_over))


def _ranked(problem: Problem, placement: Placement, planned: Timeline) -> Placement:
    """By start; of one moment, in which tasks of no length may follow others, topologically."""
    starts = {span.index: span.start_ns for span in planned if span.kind is SpanKind.TASK}
    ranks = topological_ranks(problem, lambda task: (starts[task], placement.priority[task]))
    return replace(placement.without_holds(), priority=ranks)


@dataclass(frozen=True, slots=True)
class _PlannedCopy:
    tensor: int
    asked_ns: int
    rank: tuple[bool, int, int]


class _Search:
    def __init__(self, problem: Problem, placement: Placement, planned: Timeline) -> None:
        self._problem = problem
        self._placement = placement
        self._tasks = _tasks_in_order(placement)
        self._copies = {
            link: _in_order(problem, placement, link, row)
            for link, row in _copies_by_link(planned).items()
        }

    def placement(self, holds: Sequence[AnyHold]) -> Placement:
        return replace(
            self._placement,
            holds=tuple(sorted(hold for hold in holds if isinstance(hold, Hold))),
            copy_holds=tuple(sorted(hold for hold in holds if isinstance(hold, CopyHold))),
        )

    def makespan_ns(self, holds: Sequence[AnyHold]) -> int:
        """When a runtime is done with the query."""
        found = self._played(holds)
        return int(max(found.end_ns.max(initial=0), found.copies[:, 4].max(initial=0)))

    def wanted(self, holds: Sequence[AnyHold], count: int) -> list[AnyHold]:
        """Who starts before his elders all the same, the first so many of them."""
        found = self._played(holds)
        early: list[tuple[int, AnyHold]] = [*self._early_tasks(found), *self._early_copies(found)]
        early.sort(key=lambda pair: pair[0])
        known = set(holds)
        return [hold for _, hold in early if hold not in known][:count]

    def needed(
        self, holds: list[AnyHold], makespan_ns: int, is_over: Callable[[], bool]
    ) -> list[AnyHold]:
        """Those without which the query takes longer than that.

        Many are left out at once, then one after another, until each is needed.
        """
        size = len(holds)
        while size and not is_over():
            before = len(holds)
            for place in reversed(range(0, before, size)):
                rest = holds[:place] + holds[place + size :]
                if self.makespan_ns(rest) <= makespan_ns:
                    holds = rest
            if size > 1 or len(holds) == before:
                size //= 2
        return holds

    def _played(self, holds: Sequence[AnyHold]) -> Schedule:
        # Elders are earlier in a topological order, so they cannot wait for whom they hold.
        return unchecked_schedule(self._problem, self.placement(holds))

    def _early_tasks(self, found: Schedule) -> Iterator[tuple[int, Hold]]:
        """With their starts; the elder is whichever was ready last."""
        when = list(zip(found.ready_ns.tolist(), found.start_ns.tolist(), strict=True))
        for tasks in self._tasks:
            elder = tasks[0]
            for task in tasks:
                start_ns = when[task][1]
                # Of one moment, in which tasks of no length end, who was ready first is started.
                if when[elder] > (start_ns, start_ns):
                    yield start_ns, Hold(elder, task)
                elder = max(elder, task, key=when.__getitem__)

    def _early_copies(self, found: Schedule) -> Iterator[tuple[int, CopyHold]]:
        """With the moments at which they were asked for."""
        for index, link in enumerate(self._problem.links):
            rows = found.copies[found.copies[:, 1] == index].tolist()
            when = {row[0]: (row[2], row[3]) for row in rows}
            yield from _early_on_link(self._copies.get(link.name, []), when, link.target)


def _early_on_link(
    copies: Sequence[_PlannedCopy], when: Mapping[int, tuple[int, int]], memory: str
) -> Iterator[tuple[int, CopyHold]]:
    """The elder is whichever more urgent one was asked for last.

    Parameters
    ----------
    when : mapping of int to (int, int)
        By tensor: when it was asked for, and when it took the link.
    """
    latest = (0, 0)
    for place, copy in enumerate(copies):
        moment = when[copy.tensor]
        if latest <= moment:
            latest = moment
            continue
        before = [c for c in copies[:place] if c.rank < copy.rank]
        elder = max(before, key=lambda c: when[c.tensor], default=copy)
        if when[elder.tensor] > moment:
            yield moment[0], CopyHold(elder.tensor, copy.tensor, memory)


def _tasks_in_order(placement: Placement) -> list[list[int]]:
    rows: dict[int, list[int]] = defaultdict(list)
    for task in sorted(range(len(placement.priority)), key=placement.priority.__getitem__):
        rows[placement.device_of[task]].append(task)
    return list(rows.values())


def _copies_by_link(planned: Timeline) -> dict[str, list[Span]]:
    rows: dict[str, list[Span]] = defaultdict(list)
    for span in planned:
        if span.kind is SpanKind.COPY:
            rows[span.resource].append(span)
    return rows


def _in_order(
    problem: Problem, placement: Placement, link: str, spans: Sequence[Span]
) -> list[_PlannedCopy]:
    """Copies of a link in their planned order, but for whom the link would prefer to another.

    Of two that wait for the link at one moment it takes the more urgent one. Planned the other way
    round they may as well change places: the first reader of the less urgent one is the later.
    """
    memory = problem.links_by_name[link].target
    row: list[_PlannedCopy] = []
    latest_ns: list[int] = []
    for span in sorted(spans, key=lambda s: s.start_ns):
        rank = copy_rank(problem, placement, span.index, memory)
        place = len(row)
        while place and latest_ns[place - 1] >= span.ready_ns and rank < row[place - 1].rank:
            place -= 1
        row.insert(place, _PlannedCopy(span.index, span.ready_ns, rank))
        del latest_ns[place:]
        for copy in row[place:]:
            latest_ns.append(max([copy.asked_ns, *latest_ns[-1:]]))
    return row
