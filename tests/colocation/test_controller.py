"""Decisions that cannot be done are refused; groups of operators run in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.colocation import PolicyError, PolicySpec, simulate
from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.state import Queue, State
from surplus.colocation.frame.work import piece_of
from surplus.colocation.results.validate import check_run
from tests.colocation.settings import MS, load_of, service, setting_of

SERVICES = (service("a", slo_ms=50, max_batch=2, operators=4), service("b", operators=2))


@DISPATCHERS.register("scripted_for_a_test")
class Scripted:
    """Decides what a test tells it to."""

    def __init__(self, context: Context, script: Callable[[State, Event], Decision]) -> None:
        self._script = script

    def decide(self, state: State, event: Event) -> Decision:
        return self._script(state, event)


def simulated(script: Callable[[State, Event], Decision], arrivals: list[list[float]]):  # type: ignore[no-untyped-def]
    setting = setting_of(SERVICES, load_of(SERVICES, arrivals), [8, 4])
    run = simulate(setting, PolicySpec("s", "scripted_for_a_test", {"script": script}))
    check_run(setting.load, SERVICES, run.deployment, run.record)
    return run


def halves_side_by_side(state: State, event: Event) -> Decision:
    """Once both services wait, the next half of each in one group."""
    if state.running[0] is not None or not all(state.waiting):
        return NOTHING
    pieces = []
    for waiting, operators in zip(state.waiting, (4, 2), strict=True):
        query = waiting.urgent
        start = state.progress.get(query.id, 0)
        pieces.append(piece_of((query,), start, start + operators // 2))
    return Decision(starts=(Start(0, tuple(pieces), 6 * MS),))


def test_operator_groups_of_two_services_run_in_two_steps() -> None:
    run = simulated(halves_side_by_side, [[0], [1]])
    assert list(run.record.group_start_ns) == [1 * MS, 7 * MS]
    assert list(run.record.group_end_ns) == [7 * MS, 13 * MS]
    assert list(run.record.ended_ns) == [13 * MS, 13 * MS]
    assert list(zip(run.record.piece_start, run.record.piece_end, strict=True)) == [
        (0, 2),
        (0, 1),
        (2, 4),
        (1, 2),
    ]


def start(partition: int, *piece: tuple[int, int]) -> Callable[[State, Event], Decision]:
    def script(state: State, event: Event) -> Decision:
        query = event.query
        assert query is not None
        pieces = tuple(piece_of((query,), first, last) for first, last in piece)
        return Decision(starts=(Start(partition, pieces),))

    return script


@pytest.mark.parametrize(
    ("script", "match"),
    [
        (start(3, (0, 4)), "no partition 3"),
        (start(0), "without pieces"),
        (start(0, (0, 5)), "operators 0 to 5"),
        (start(0, (2, 2)), "operators 2 to 2"),
        (start(0, (1, 4)), "not at operator 1"),
        (start(0, (0, 2), (0, 2)), "not waiting"),
    ],
)
def test_impossible_decisions_are_refused(
    script: Callable[[State, Event], Decision], match: str
) -> None:
    with pytest.raises(PolicyError, match=match):
        simulated(script, [[0], []])


def test_a_busy_partition_is_refused() -> None:
    with pytest.raises(PolicyError, match="partition 0 is not free"):
        simulated(start(0, (0, 4)), [[0, 1], []])


def test_a_batch_above_the_limit_is_refused() -> None:
    def all_of_them(state: State, event: Event) -> Decision:
        queries = state.waiting[0].first(9)
        if len(queries) < 3:
            return NOTHING
        return Decision(starts=(Start(0, (piece_of(queries, 0, 4),)),))

    with pytest.raises(PolicyError, match="a batch of 3"):
        simulated(all_of_them, [[0, 1, 2], []])


def test_a_query_is_dropped_once() -> None:
    def twice(state: State, event: Event) -> Decision:
        assert event.query is not None
        return Decision(drops=(Drop(event.query, 9),) * 2)

    with pytest.raises(PolicyError, match="not waiting"):
        simulated(twice, [[0], []])


def test_alarms_ring_at_their_time_and_wishes_do_not_pile_up() -> None:
    seen: list[int] = []

    def wake_at_five(state: State, event: Event) -> Decision:
        seen.append(state.now_ns)
        return NOTHING if state.now_ns >= 5 * MS else Decision(wake_ns=5 * MS)

    run = simulated(wake_at_five, [[0, 1, 2], []])
    assert seen == [0, 1 * MS, 2 * MS, 5 * MS]
    assert set(run.record.outcome) == {Outcome.UNFINISHED}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30))
def test_a_queue_keeps_both_orders(steps: list[tuple[int, int]]) -> None:
    queue, kept = Queue(), []
    for number, (deadline, removed) in enumerate(steps):
        query = Query(number, 0, number, number, deadline)
        queue.add(query)
        kept.append(query)
        if removed == 0:
            kept.remove(gone := kept[len(kept) // 2])
            queue.remove(gone)
        assert list(queue) == sorted(kept, key=lambda q: (q.deadline_ns, q.id))
        if kept:
            assert queue.oldest == min(kept)
