"""Balancers as a simulated router asks them; what ours knows is tested in tests/routing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from surplus.cluster.routing.live_balancer import LiveBalancer
from surplus.cluster.routing.query_balancer import QueryBalancer, SendFailure, Sending
from surplus.cluster.routing.round_robin import RoundRobin
from tests.cluster.settings import MS, S

Make = Callable[[], QueryBalancer]


def sent(balancer: QueryBalancer, model: int = 0, now_ns: int = 0) -> Sending:
    sending = balancer.send(model, now_ns, now_ns + S)
    assert sending is not None
    return sending


@pytest.mark.parametrize("make", [LiveBalancer, RoundRobin])
def test_queries_go_to_those_that_have_the_model(make: Make) -> None:
    balancer = make()
    balancer.set_replicas(2, [5, 7])
    balancer.set_replicas(0, [])
    assert {sent(balancer, 2).server for _ in range(4)} == {5, 7}
    assert balancer.send(0, 0, S) is None
    assert balancer.send(3, 0, S) is None
    balancer.set_replicas(2, [7])
    assert {sent(balancer, 2).server for _ in range(4)} == {7}


@pytest.mark.parametrize("failure", [SendFailure.LOST, SendFailure.REFUSED])
def test_ours_sends_a_query_that_failed_once_more_elsewhere(failure: SendFailure) -> None:
    balancer = LiveBalancer()
    balancer.set_replicas(0, range(3))
    first = sent(balancer)
    second = balancer.failed(first.ticket, MS, failure)
    assert second is not None
    assert second.server != first.server
    assert balancer.failed(second.ticket, 2 * MS, failure) is None
    assert balancer.ejections(2 * MS) == (2 if failure is SendFailure.LOST else 0)


def test_who_is_silent_is_ejected_by_ours() -> None:
    balancer = LiveBalancer(most_failures=2)
    balancer.set_replicas(0, [0])
    for count in (0, 1):
        assert balancer.ejections(0) == 0, count
        assert balancer.failed(sent(balancer).ticket, 0, SendFailure.LATE) is None
    assert balancer.ejections(0) == 1


def test_in_turn_nothing_is_learnt() -> None:
    balancer = RoundRobin()
    balancer.set_replicas(0, range(3))
    first = sent(balancer)
    assert balancer.failed(first.ticket, 0, SendFailure.LOST) is None
    balancer.answered(sent(balancer).ticket, MS, None)
    assert [sent(balancer).server for _ in range(4)] == [2, 0, 1, 2]
