"""Groups that claim cores one by one: what they take, how they are resized, who checks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from surplus.colocation.frame.controller import Controller, PolicyError
from surplus.colocation.frame.decision import NOTHING, Decision, Resize, Start
from surplus.colocation.frame.deployment import Assignment, Deployment, check_deployment
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Partition, ServingDevice
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.interference.pressure import Pressure
from surplus.colocation.results.metrics import summarise
from surplus.colocation.results.validate import RunRule, validate_run
from surplus.colocation.simulation.simulator import Run
from surplus.colocation.simulation.virtual_executor import VirtualExecutor
from tests.colocation.settings import MS, load_of, service

Decide = Callable[[State, Event], Decision]
SERVICES = [service("a", slo_ms=100), service("b", slo_ms=100)]
WORKERS = tuple(Partition(0, 100, cores=8) for _ in range(3))


class PerfectlyParallel:
    """80 ms of one core."""

    def group_ns(self, group: Group, share_percent: int) -> int:
        return 80 * MS // group.cores


class Scripted:
    """A dispatcher made of a function."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide


def run_of(
    decide: Decide, spawn_ms: int = 0, interference: Interference | None = None
) -> tuple[Run, Record]:
    load = load_of(SERVICES, [[0], [4]])
    assignments = tuple(Assignment(s, p, 1) for p in range(3) for s in range(2))
    deployment = Deployment(WORKERS, assignments, on_demand=True)
    truth, spawn_ns = PerfectlyParallel(), spawn_ms * MS
    executor = VirtualExecutor(load, WORKERS, truth, interference, spawn_ns=spawn_ns)
    record = Record(len(load))
    controller = Controller(SERVICES, deployment, Scripted(decide), executor, record)
    controller.run()
    assert validate_run(load, SERVICES, deployment, record) == []
    return Run("scripted", deployment, record), record


def start(state: State, which: int, cores: int) -> Decision:
    piece = piece_of((state.waiting[which].urgent,), 0, 1)
    return Decision(starts=(Start(which, (piece,), cores=cores),))


def ends_ms(record: Record) -> list[float]:
    return [end / MS for end in record.group_end_ns]


def grows(state: State, event: Event) -> Decision:
    """Two cores for the first, all for it once the second has come and waits."""
    if state.waiting[0]:
        return start(state, 0, 2)
    if state.running[0] is not None and event.query is not None and event.query.service == 1:
        return Decision(resizes=(Resize(0, 8),))
    return start(state, 1, 8) if state.waiting[1] and state.running[0] is None else NOTHING


def test_what_is_left_goes_on_with_the_new_cores() -> None:
    # 4 ms of 40 on two cores leave 0.9 of 10 ms on eight.
    _, record = run_of(grows)
    assert ends_ms(record) == [13, 23]
    assert record.resizes == [(4 * MS, 0, 8)]


def test_added_cores_cost_new_threads_and_withdrawn_ones_nothing() -> None:
    assert ends_ms(run_of(grows, spawn_ms=3)[1]) == [16, 26]

    def shrinks(state: State, event: Event) -> Decision:
        if state.waiting[0]:
            return start(state, 0, 8)
        if state.waiting[1] and (first := state.running[0]) is not None and first.cores == 8:
            return Decision(resizes=(Resize(0, 4),))
        return start(state, 1, 4) if state.waiting[1] else NOTHING

    # 0.6 of 20 ms are left of the first; the second takes 20.
    assert ends_ms(run_of(shrinks, spawn_ms=3)[1]) == [16, 24]


def test_neighbours_press_by_the_cores_that_they_hold() -> None:
    def both(state: State, event: Event) -> Decision:
        which = next((k for k in (0, 1) if state.waiting[k]), None)
        return NOTHING if which is None else start(state, which, 4)

    law = Pressure(["a", "b"], 8, [1.0], {"b": 0.5})
    # Alone until 4, then 16 of 20 ms at 1.25 until 24, and b 20 ms at 1.5 until the same.
    _, record = run_of(both, interference=law)
    assert ends_ms(record) == [24, pytest.approx(24 + (20 - 20 / 1.5))]
    group = Group(0, 0, (), 0, 0, cores=4, version=3)
    assert law.slowdowns_ppm([group]) == [1_000_000]
    with pytest.raises(ValueError, match="unknown service 'c'"):
        Pressure(["a"], 8, [1.0], {"c": 1.0})
    with pytest.raises(ValueError, match="cores >= 1"):
        Pressure(["a"], 0, [1.0])


def test_utilisation_counts_cores() -> None:
    run, _ = run_of(grows)
    load = load_of(SERVICES, [[0], [4]])
    found = summarise(run, load, SERVICES, 1).utilisation
    # 2 cores for 4 ms, 8 for 9 ms, 8 for 10 ms, of 8 in 1000 ms.
    assert found == pytest.approx((2 * 4 + 8 * 9 + 8 * 10) / (8 * 1000))


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (lambda state: start(state, 0, 0), "0 cores are claimed of 8"),
        (lambda state: start(state, 0, 9), "9 cores are claimed of 8"),
        (lambda state: Decision(resizes=(Resize(1, 2),)), "nothing runs in partition 1"),
    ],
)
def test_claims_that_cannot_be_are_refused(
    decision: Callable[[State], Decision], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        run_of(lambda state, event: decision(state) if state.waiting[0] else NOTHING)


def test_more_cores_than_there_are_are_refused() -> None:
    def greedy(state: State, event: Event) -> Decision:
        which = next((k for k in (0, 1) if state.waiting[k]), None)
        return NOTHING if which is None else start(state, which, 5)

    with pytest.raises(PolicyError, match=r"would give away 125 %"):
        run_of(greedy)


def test_the_validator_sees_a_resize_that_takes_too_much() -> None:
    run, record = run_of(grows)
    load = load_of(SERVICES, [[0], [4]])
    record.resizes.append((14 * MS, 1, 9))
    found = validate_run(load, SERVICES, run.deployment, record)
    assert [v.rule for v in found] == [RunRule.SHARE]
    assert "112.5 %" in str(found[0])


def test_workers_of_a_device_share_what_is_loaded() -> None:
    services = tuple(replace(s, memory_bytes=60) for s in SERVICES)
    assignments = tuple(Assignment(s, p, 1) for p in range(3) for s in range(2))
    deployment = Deployment(WORKERS, assignments, on_demand=True)
    check_deployment(deployment, services, (ServingDevice("cpu", 120),))
    with pytest.raises(ValueError, match="120 bytes are placed in 119"):
        check_deployment(deployment, services, (ServingDevice("cpu", 119),))


def test_a_device_has_no_negative_cores() -> None:
    with pytest.raises(ValueError, match="cores must be 0 to 1024"):
        ServingDevice("cpu", cores=-1)
