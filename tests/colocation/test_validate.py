"""Each rule of the validator finds the mutation that it is there for, and no valid run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.deployment import Assignment, Deployment, check_deployment
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Partition, Service, ServingDevice
from surplus.colocation.results.validate import RunRule, check_run, validate_run
from tests.colocation.settings import MS, load_of, service, setting_of

SERVICES = (service("a", slo_ms=20, max_batch=4), service("b", slo_ms=12, max_batch=4))


def valid_run() -> tuple[Load, Deployment, Record]:
    load = load_of(SERVICES, [[0, 1, 2, 30], [3, 4]], [[1, 2, 1, 1], [1, 1]])
    setting = setting_of(SERVICES, load, [4, 5])
    run = simulate(setting, policy_spec("temporal_drop"))
    return load, run.deployment, run.record


def starts_early(record: Record) -> None:
    record.group_start_ns[-1] -= 1


def overlaps(record: Record) -> None:
    record.group_start_ns[1] -= 1


def ends_before_it_starts(record: Record) -> None:
    record.group_end_ns[-1] = record.group_start_ns[-1] - 1


def moves(record: Record) -> None:
    record.group_partition[0] = 7


def says_another_size(record: Record) -> None:
    record.piece_items[0] += 1


def swaps_service(record: Record) -> None:
    record.piece_service[0] = 1


def runs_twice(record: Record) -> None:
    record.piece_query[1] = record.piece_query[0]


def skips_operators(record: Record) -> None:
    record.piece_start[0] = 1


def stops_halfway(record: Record) -> None:
    record.piece_end[0] = 0


def calls_late_in_time(record: Record) -> None:
    done = [k for k, outcome in enumerate(record.outcome) if outcome == Outcome.IN_TIME]
    record.outcome[done[0]] = Outcome.LATE


def ends_at_another_time(record: Record) -> None:
    record.ended_ns[0] += 1


def forgets_a_query(record: Record) -> None:
    record.outcome[0] = Outcome.UNFINISHED


def drops_what_ran(record: Record) -> None:
    record.outcome[0] = Outcome.DROPPED


def loses_a_row(record: Record) -> None:
    record.outcome.pop()


MUTATIONS = {
    starts_early: RunRule.EARLY,
    overlaps: RunRule.OVERLAP,
    ends_before_it_starts: RunRule.EARLY,
    moves: RunRule.PLACE,
    says_another_size: RunRule.BATCH,
    swaps_service: RunRule.BATCH,
    runs_twice: RunRule.OPERATORS,
    skips_operators: RunRule.OPERATORS,
    stops_halfway: RunRule.OUTCOME,
    calls_late_in_time: RunRule.OUTCOME,
    ends_at_another_time: RunRule.OUTCOME,
    forgets_a_query: RunRule.OUTCOME,
    drops_what_ran: RunRule.OUTCOME,
    loses_a_row: RunRule.OUTCOME,
}


def test_a_valid_run_passes() -> None:
    load, deployment, record = valid_run()
    assert validate_run(load, SERVICES, deployment, record) == []


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda m: m.__name__)
def test_a_mutation_is_found(mutate: Callable[[Record], None]) -> None:
    load, deployment, record = valid_run()
    mutate(record)
    assert MUTATIONS[mutate] in {v.rule for v in validate_run(load, SERVICES, deployment, record)}
    with pytest.raises(ValueError, match="violations"):
        check_run(load, SERVICES, deployment, record)


def test_shares_above_the_device_are_found() -> None:
    load = load_of(SERVICES, [[0], [0]])
    run = simulate(setting_of(SERVICES, load, [4, 4], devices=2), policy_spec("fcfs"))
    both = Deployment((Partition(0, 60), Partition(0, 60)), run.deployment.assignments)
    found = validate_run(load, SERVICES, both, run.record)
    assert {v.rule for v in found} == {RunRule.SHARE}


AWAY_MS = {
    ((29, 30),): False,
    ((29, 31),): True,
    ((29, None),): True,
    ((30, 31),): True,
    ((33, 34),): True,
    ((34, None),): False,
    ((26, 27), (28, 29)): False,
    ((26, 27), (31, 32)): True,
    ((26, 27), (29, 31), (40, 41)): True,
}
"""When the device is away, and whether its last group, from 30 to 34 ms, cannot have run so."""


@pytest.mark.parametrize("away", AWAY_MS, ids=str)
def test_work_on_a_lost_device_is_found(away: tuple[tuple[int, int | None], ...]) -> None:
    load, deployment, record = valid_run()
    assert (record.group_start_ns[-1], record.group_end_ns[-1]) == (30 * MS, 34 * MS)
    for lost_ms, back_ms in away:
        record.changes.append((lost_ms * MS, Change(ChangeKind.DEVICE_LOST, 0)))
        if back_ms is not None:
            record.changes.append((back_ms * MS, Change(ChangeKind.DEVICE_BACK, 0)))
    found = {violation.rule for violation in validate_run(load, SERVICES, deployment, record)}
    assert found == ({RunRule.LOST} if AWAY_MS[away] else set())


ONE = (Assignment(0, 0, 1),)


@pytest.mark.parametrize(
    ("deployment", "match"),
    [
        (Deployment((Partition(0, 60), Partition(0, 50)), ONE), "gives away 110 %"),
        (Deployment((Partition(2),), ONE), "no device 2"),
        (Deployment((Partition(0, 0),), ONE), "share of 0 %"),
        (Deployment((Partition(0),), (Assignment(5, 0, 1),)), "no service 5"),
        (Deployment((Partition(0),), (Assignment(0, 3, 1),)), "no partition 3"),
        (Deployment((Partition(0),), (Assignment(0, 0, 9),)), "a batch of 9"),
    ],
)
def test_wrong_deployments_are_refused(deployment: Deployment, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        check_deployment(deployment, SERVICES, (ServingDevice("gpu0"),))


def test_memory_of_a_device_is_counted() -> None:
    services = (Service("a", MS, memory_bytes=60), Service("b", MS, memory_bytes=50))
    deployment = Deployment((Partition(0),), (Assignment(0, 0, 1), Assignment(1, 0, 1)))
    check_deployment(deployment, services, (ServingDevice("gpu0", 110),))
    with pytest.raises(ValueError, match="110 bytes are placed in 100"):
        check_deployment(deployment, services, (ServingDevice("gpu0", 100),))
