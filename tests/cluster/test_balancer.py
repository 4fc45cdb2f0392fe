"""Where queries are sent, where again, and who is left alone."""

from __future__ import annotations

import pytest

from surplus.cluster.routing.balancer import EjectionParams, LeastLateness
from surplus.cluster.routing.query_balancer import SendFailure, Sending
from tests.cluster.settings import MS, S

LATER = 1000 * S


def balancer(servers: int, **params: int) -> LeastLateness:
    made = LeastLateness(EjectionParams(**params))
    made.set_replicas(0, range(servers))
    return made


def send(made: LeastLateness, now_ns: int = 0) -> Sending:
    sending = made.send(0, now_ns, LATER)
    assert sending is not None
    return sending


def test_a_model_that_nobody_has_is_sent_nowhere() -> None:
    assert balancer(0).send(0, 0, LATER) is None
    assert balancer(1).send(1, 0, LATER) is None


def test_servers_of_which_nothing_is_known_are_asked_in_turn() -> None:
    made = balancer(3)
    assert sorted(send(made).server for _ in range(3)) == [0, 1, 2]
    assert sorted(send(made).server for _ in range(3)) == [0, 1, 2]


def test_the_faster_server_gets_more() -> None:
    """One takes 10 ms a query and the other 30: three queries for one."""
    made = balancer(2)
    for took_ms in (10, 30):
        ticket, server = send(made)
        assert took_ms == (10, 30)[server]
        made.answered(ticket, took_ms * MS)
    now_ns = 30 * MS
    assert [send(made, now_ns).server for _ in range(4)].count(0) == 3


def test_a_server_that_was_slow_once_is_asked_again() -> None:
    made = balancer(2)
    tickets = [send(made).ticket for _ in range(2)]
    made.answered(tickets[0], MS)
    made.answered(tickets[1], 8 * MS)
    now_ns = 8 * MS
    asked = []
    for _ in range(60):
        now_ns += S // 2
        ticket, server = send(made, now_ns)
        asked.append(server)
        made.answered(ticket, now_ns + MS)
    assert 1 in asked


def test_a_lost_server_is_left_alone_then_tried_by_one_query() -> None:
    made = balancer(2)
    made.lost(0, 0)
    assert {send(made, k).server for k in range(5)} == {1}
    after = [send(made, S) for _ in range(5)]
    assert [sending.server for sending in after].count(0) == 1
    (trial,) = (sending.ticket for sending in after if sending.server == 0)
    made.answered(trial, S + MS)
    assert 0 in {send(made, S + MS).server for _ in range(3)}


def test_who_fails_again_is_left_alone_for_twice_as_long() -> None:
    made = balancer(2, eject_ns=S, most_eject_ns=4 * S)
    now_ns, pauses = 0, []
    made.lost(0, now_ns)
    for _ in range(4):
        lost_ns = now_ns
        while (sending := send(made, now_ns)).server != 0:
            made.answered(sending.ticket, now_ns)
            now_ns += S // 10
        pauses.append((now_ns - lost_ns) / S)
        made.failed(sending.ticket, now_ns, SendFailure.LOST)
    assert pauses == [1, 2, 4, 4]
    assert made.ejections == 5


def test_three_silent_queries_in_a_row_eject_a_server() -> None:
    made = balancer(1)
    for failure in (SendFailure.LATE, SendFailure.LATE, None, SendFailure.LATE, SendFailure.LATE):
        ticket = send(made).ticket
        if failure is None:
            made.answered(ticket, 0)
        else:
            made.failed(ticket, 0, failure)
    assert not made.ejections
    made.failed(send(made).ticket, 0, SendFailure.LATE)
    assert made.ejections == 1


def test_a_query_is_tried_once_more_elsewhere() -> None:
    made = balancer(3)
    first = send(made)
    second = made.failed(first.ticket, MS, SendFailure.REFUSED)
    assert second is not None
    assert second.server != first.server
    assert made.failed(second.ticket, MS, SendFailure.REFUSED) is None


def test_a_query_that_is_due_or_was_not_heard_of_is_not_tried_again() -> None:
    made = balancer(2)
    sending = made.send(0, 0, MS)
    assert sending is not None
    assert made.failed(sending.ticket, MS, SendFailure.LOST) is None
    assert made.failed(send(made).ticket, MS, SendFailure.LATE) is None


def test_without_another_server_nothing_is_tried_again() -> None:
    made = balancer(1)
    assert made.failed(send(made).ticket, 0, SendFailure.LOST) is None


def test_if_all_are_ejected_the_first_to_come_back_is_asked() -> None:
    made = balancer(2)
    made.lost(1, 0)
    made.lost(0, MS)
    assert send(made, 2 * MS).server == 1


def test_of_many_servers_some_are_compared_and_all_are_asked() -> None:
    made = balancer(40, looks=4)
    assert {send(made).server for _ in range(40)} == set(range(40))


def test_what_is_known_of_a_replica_that_stays_is_kept() -> None:
    made = balancer(2)
    tickets = [send(made).ticket for _ in range(2)]
    made.answered(tickets[0], MS)
    made.answered(tickets[1], 50 * MS)
    made.set_replicas(0, [0, 1, 2])
    made.set_replicas(0, [0, 1])
    assert {send(made, 50 * MS).server for _ in range(5)} == {0}


@pytest.mark.parametrize(
    "wrong", [{"most_failures": 0}, {"looks": 0}, {"eject_ns": 0}, {"most_eject_ns": 1}]
)
def test_impossible_ejections_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be >="):
        EjectionParams(**wrong)
