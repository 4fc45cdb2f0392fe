"""Which replica answers, by hand-worked moments: the balancer reads no clock."""

from __future__ import annotations

import math

import pytest

from surplus.routing.balancer import Balancer, Failure, failure_of

MS = 1_000_000
NEVER = 0


class Fleet:
    """A balancer of one model on some servers, at a time that tests set."""

    def __init__(self, servers: int = 2, **params: int) -> None:
        self.balancer = Balancer(**params)
        self.model = self.balancer.model("m")
        self.servers = [self.balancer.server(name) for name in "abcdefgh"[:servers]]
        self.now_ns = 1_000 * MS
        self.balancer.set_replicas(self.model, [(server, 0.0) for server in self.servers])

    def send(self, due_ns: int = NEVER, sequence: int = 0) -> tuple[int, int]:
        sent = self.balancer.send(self.model, self.now_ns, due_ns, sequence)
        assert sent is not None
        return sent

    def failed(self, ticket: int, failure: Failure) -> tuple[int, int] | None:
        return self.balancer.failed(ticket, self.now_ns, failure)

    def teach(self, server: int, took_ns: int) -> None:
        """Have a server answer one query in that time; the others stay as they are."""
        ticket, asked = self.send()
        held = []
        while asked != server:
            held.append(ticket)
            ticket, asked = self.send()
        for other in held:
            self.balancer.abandoned(other)
        self.balancer.answered(ticket, self.now_ns + took_ns)

    @property
    def ejected(self) -> list[bool]:
        return [row.is_ejected for row in self.balancer.counts(self.now_ns)]


def test_queries_of_which_nothing_is_known_are_spread_evenly() -> None:
    fleet = Fleet(3)
    assert sorted(fleet.send()[1] for _ in range(6)) == [0, 0, 1, 1, 2, 2]


def test_a_model_without_replicas_is_sent_nowhere() -> None:
    fleet = Fleet()
    fleet.balancer.set_replicas(fleet.model, [])
    assert fleet.balancer.send(fleet.model, fleet.now_ns) is None


def test_the_faster_server_gets_more_in_the_ratio_of_speeds() -> None:
    fleet = Fleet()
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 30 * MS)
    # Behind k others of 10 ms a query ends at 10 (k + 1), on the other server at 30 (k + 1).
    assert [fleet.send()[1] for _ in range(8)].count(0) == 6


def test_expected_ends_are_what_was_learnt_behind_what_is_outstanding() -> None:
    fleet = Fleet(1)
    fleet.teach(0, 10 * MS)
    expected = fleet.balancer.expected_end_ns
    assert expected(fleet.model, 0, fleet.now_ns) == fleet.now_ns + 10 * MS
    fleet.send()
    fleet.send()
    assert expected(fleet.model, 0, fleet.now_ns) == fleet.now_ns + 30 * MS


def test_what_a_server_reports_counts_and_passes() -> None:
    fleet = Fleet(1)
    for _ in range(2):
        ticket, _ = fleet.send()
        fleet.now_ns += 10 * MS
        fleet.balancer.answered(ticket, fleet.now_ns, wait_ns=25 * MS)

    def ahead_ms() -> int:
        end_ns = fleet.balancer.expected_end_ns(fleet.model, 0, fleet.now_ns)
        assert end_ns is not None
        return round((end_ns - fleet.now_ns) / MS) - 10

    assert ahead_ms() == 25
    fleet.send()  # which the server has not told of yet
    assert ahead_ms() == 35
    fleet.now_ns += 15 * MS
    assert ahead_ms() == 20
    fleet.now_ns += 15 * MS
    assert ahead_ms() == 10


def test_who_reports_a_long_wait_is_left_out_as_long_as_it_lasts() -> None:
    fleet = Fleet()
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 10 * MS)
    ticket, busy = fleet.send()
    fleet.now_ns += 10 * MS
    fleet.balancer.answered(ticket, fleet.now_ns, wait_ns=25 * MS)
    # At 35 ms here, at 10, 20, 30 and then 40 ms there.
    other = 1 - busy
    assert [fleet.send()[1] for _ in range(4)] == [other, other, other, busy]


def test_what_others_send_there_counts_until_the_server_says_it() -> None:
    fleet = Fleet()
    fleet.balancer.set_replicas(fleet.model, [(0, 3.0), (1, 0.0)])
    assert [fleet.send()[1] for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("due_ms", [0, 5, 20, 100])
def test_the_least_late_server_answers(due_ms: int) -> None:
    fleet = Fleet()
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 30 * MS)
    due_ns = due_ms and fleet.now_ns + due_ms * MS
    assert fleet.send(due_ns)[1] == 0


def test_who_was_slow_once_is_asked_again() -> None:
    fleet = Fleet(fade_ns=1_000 * MS)
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 500 * MS)
    asked = []
    for _ in range(100):
        ticket, server = fleet.send()
        fleet.now_ns += 100 * MS
        fleet.balancer.answered(ticket, fleet.now_ns - 90 * MS)
        asked.append(server)
    # 500 ms halve each second, to less than 10 ms behind six of them.
    assert asked[0] == 0
    assert 55 <= asked.index(1) <= 65


def test_one_answer_is_enough_for_a_server_that_is_no_longer_slow() -> None:
    fleet = Fleet(fade_ns=1_000 * MS)
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 500 * MS)
    fleet.now_ns += 10_000 * MS  # in which both fade
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 1 * MS)
    assert fleet.send()[1] == 1


def test_of_a_server_that_is_lost_nothing_is_known_any_more() -> None:
    fleet = Fleet()
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 500 * MS)
    fleet.balancer.lost(1, fleet.now_ns)
    fleet.balancer.restored(1)
    assert fleet.balancer.expected_end_ns(fleet.model, 1, fleet.now_ns) is None
    assert {fleet.send()[1] for _ in range(2)} == {0, 1}


def test_a_lost_server_is_ejected_at_once_and_its_query_sent_to_another_one() -> None:
    fleet = Fleet()
    ticket, first = fleet.send()
    again = fleet.failed(ticket, Failure.LOST)
    assert again is not None
    assert again[1] == 1 - first
    assert fleet.ejected[first]
    assert {fleet.send()[1] for _ in range(5)} == {1 - first}


def test_a_query_is_tried_once_more_and_no_further() -> None:
    fleet = Fleet(3)
    again = fleet.failed(fleet.send()[0], Failure.LOST)
    assert again is not None
    assert fleet.failed(again[0], Failure.LOST) is None


@pytest.mark.parametrize("failure", [Failure.LATE, Failure.ERROR, Failure.FAULT])
def test_what_another_replica_would_not_mend_is_not_tried_again(failure: Failure) -> None:
    fleet = Fleet()
    assert fleet.failed(fleet.send()[0], failure) is None


@pytest.mark.parametrize(
    "failure", [Failure.LOST, Failure.UNAVAILABLE, Failure.REFUSED, Failure.ABSENT]
)
def test_what_is_due_already_is_not_tried_again(failure: Failure) -> None:
    fleet = Fleet()
    due_ns = fleet.now_ns + 10 * MS
    early, late = fleet.send(due_ns)[0], fleet.send(due_ns)[0]
    assert fleet.failed(early, failure) is not None
    fleet.now_ns = due_ns
    assert fleet.failed(late, failure) is None


def test_a_single_replica_has_no_other_to_try() -> None:
    fleet = Fleet(1)
    assert fleet.failed(fleet.send()[0], Failure.LOST) is None


def test_a_server_that_fails_several_times_in_a_row_is_ejected() -> None:
    fleet = Fleet(1, most_failures=3)
    for _ in range(2):
        fleet.failed(fleet.send()[0], Failure.UNAVAILABLE)
    fleet.balancer.answered(fleet.send()[0], fleet.now_ns)
    for ejected in (False, False, True):
        fleet.failed(fleet.send()[0], Failure.LATE)
        assert fleet.ejected == [ejected]


@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.FAULT, Failure.ABSENT])
def test_who_answers_something_is_not_ejected(failure: Failure) -> None:
    fleet = Fleet(1, most_failures=1)
    for _ in range(5):
        fleet.failed(fleet.send()[0], failure)
    assert fleet.ejected == [False]


def test_an_ejected_server_is_tried_out_by_one_query_and_then_back() -> None:
    fleet = Fleet(eject_ns=1_000 * MS)
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 1 * MS)  # it would be taken for all
    fleet.balancer.lost(1, fleet.now_ns)
    fleet.now_ns += 1_000 * MS
    trial, server = fleet.send()
    assert server == 1
    assert [fleet.send()[1] for _ in range(3)] == [0, 0, 0]
    fleet.balancer.answered(trial, fleet.now_ns + MS)
    assert [fleet.send()[1] for _ in range(3)] == [1, 1, 1]


def test_each_ejection_in_a_row_is_twice_as_long_up_to_a_bound() -> None:
    fleet = Fleet(1, eject_ns=1_000 * MS, most_eject_ns=3_000 * MS)
    lasted = []
    for _ in range(4):
        fleet.failed(fleet.send()[0], Failure.LOST)
        began_ns = fleet.now_ns
        while fleet.ejected[0]:
            fleet.now_ns += 500 * MS
        lasted.append((fleet.now_ns - began_ns) // MS)
    assert lasted == [1_000, 2_000, 3_000, 3_000]
    fleet.balancer.restored(0)
    fleet.failed(fleet.send()[0], Failure.LOST)
    fleet.now_ns += 1_000 * MS
    assert not fleet.ejected[0]


def test_where_all_are_ejected_the_first_to_come_back_is_asked_all_the_same() -> None:
    fleet = Fleet()
    fleet.balancer.lost(1, fleet.now_ns)
    fleet.now_ns += MS
    fleet.balancer.lost(0, fleet.now_ns)
    assert fleet.send()[1] == 1


def test_who_says_that_it_has_not_the_model_is_asked_for_others_only() -> None:
    fleet = Fleet(eject_ns=1_000 * MS)
    other = fleet.balancer.model("other")
    fleet.balancer.set_replicas(other, [(server, 0.0) for server in fleet.servers])
    ticket, first = fleet.send()
    assert fleet.failed(ticket, Failure.ABSENT) is not None
    assert {fleet.send()[1] for _ in range(5)} == {1 - first}
    sent = [fleet.balancer.send(other, fleet.now_ns) for _ in range(8)]
    assert first in {row[1] for row in sent if row is not None}
    fleet.now_ns += 1_000 * MS
    assert fleet.send()[1] == first


def test_a_model_that_fails_again_and_again_on_a_server_is_asked_elsewhere() -> None:
    fleet = Fleet(most_failures=3)
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 20 * MS)
    asked = []
    for _ in range(4):
        ticket, server = fleet.send()
        asked.append(server)
        fleet.failed(ticket, Failure.ERROR)
    assert asked == [0, 0, 0, 1]


@pytest.mark.parametrize("due_ms", [0, 40])
def test_who_refuses_is_taken_to_be_busy(due_ms: int) -> None:
    fleet = Fleet(refused_ns=40 * MS)
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 30 * MS)
    due_ns = due_ms and fleet.now_ns + due_ms * MS
    ticket, server = fleet.send(due_ns)
    assert server == 0
    again = fleet.failed(ticket, Failure.REFUSED)
    assert again is not None
    fleet.balancer.abandoned(again[0])
    assert fleet.send()[1] == 1  # 30 ms, where 40 + 10 are expected
    fleet.now_ns += 40 * MS
    assert fleet.send()[1] == 0


def test_queries_of_a_sequence_go_to_one_replica_and_to_no_other() -> None:
    fleet = Fleet(4)
    homes = {}
    for sequence in range(1, 50):
        tickets = [fleet.send(sequence=sequence) for _ in range(3)]
        assert len({server for _, server in tickets}) == 1
        homes[sequence] = tickets[0][1]
        assert fleet.failed(tickets[0][0], Failure.UNAVAILABLE) is None
        fleet.balancer.restored(tickets[0][1])
    assert set(homes.values()) == {0, 1, 2, 3}
    # One replica less moves its own sequences only.
    fleet.balancer.set_replicas(fleet.model, [(server, 0.0) for server in (0, 1, 2)])
    for sequence, home in homes.items():
        if home != 3:
            assert fleet.send(sequence=sequence)[1] == home


def test_counts_add_up() -> None:
    fleet = Fleet()
    for _ in range(4):
        fleet.balancer.answered(fleet.send()[0], fleet.now_ns)
    again = fleet.failed(fleet.send()[0], Failure.LOST)
    assert again is not None
    fleet.balancer.answered(again[0], fleet.now_ns)
    fleet.send()
    rows = fleet.balancer.counts(fleet.now_ns)
    assert [row.name for row in rows] == ["a", "b"]
    total = {
        name: sum(getattr(row, name) for row in rows)
        for name in ("sent", "answered", "failed", "retried", "ejections", "in_flight")
    }
    assert total == {
        "sent": 7,
        "answered": 5,
        "failed": 1,
        "retried": 1,
        "ejections": 1,
        "in_flight": 1,
    }


def test_a_query_ends_once() -> None:
    fleet = Fleet()
    ticket, _ = fleet.send()
    fleet.balancer.answered(ticket, fleet.now_ns)
    fleet.balancer.answered(ticket, fleet.now_ns)
    fleet.balancer.abandoned(ticket)
    assert fleet.failed(ticket, Failure.LOST) is None
    rows = fleet.balancer.counts(fleet.now_ns)
    assert sum(row.answered for row in rows) == 1
    assert sum(row.in_flight for row in rows) == 0


def test_replicas_that_come_and_go_keep_what_was_learnt_of_the_others() -> None:
    fleet = Fleet()
    fleet.teach(0, 10 * MS)
    fleet.teach(1, 20 * MS)
    ticket, _ = fleet.send()
    fleet.balancer.set_replicas(fleet.model, [(1, 0.0)])
    fleet.balancer.answered(ticket, fleet.now_ns)  # of one that is gone
    expected = fleet.balancer.expected_end_ns(fleet.model, 1, fleet.now_ns)
    assert expected == fleet.now_ns + 20 * MS
    assert fleet.balancer.expected_end_ns(fleet.model, 0, fleet.now_ns) is None


def test_statuses_are_classified() -> None:
    assert failure_of(14) == Failure.UNAVAILABLE
    assert failure_of(8) == Failure.REFUSED
    assert failure_of(5) == Failure.ABSENT
    assert failure_of(4) == Failure.LATE
    assert failure_of(13) == Failure.ERROR
    assert failure_of(3) == Failure.FAULT


@pytest.mark.parametrize(
    "params",
    [
        {"most_failures": 0},
        {"eject_ns": 0},
        {"eject_ns": 2, "most_eject_ns": 1},
        {"fade_ns": 0},
        {"refused_ns": 0},
    ],
)
def test_bounds_are_named(params: dict[str, int]) -> None:
    name = list(params)[-1]
    with pytest.raises(ValueError, match=name):
        Balancer(**params)


def test_what_was_not_numbered_is_refused() -> None:
    fleet = Fleet()
    with pytest.raises(IndexError):
        fleet.balancer.send(7, fleet.now_ns)
    with pytest.raises(IndexError):
        fleet.balancer.set_replicas(fleet.model, [(7, 0.0)])
    for load in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="load"):
            fleet.balancer.set_replicas(fleet.model, [(0, load)])
