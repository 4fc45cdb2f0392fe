import threading

import pytest

from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import ClientError
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.threaded_loop import run_threaded_loop


def _run(call, users, count):
    load = LoadgenParams(min_duration_ns=0, min_count=count)
    return run_threaded_loop(call, ClosedLoopParams(load, users), MonotonicClock())


@pytest.mark.parametrize("users", [1, 2, 7])
def test_all_users_are_in_flight_together_and_every_query_is_recorded_once(users):
    together = threading.Barrier(users)
    queries = []

    def call(query):
        queries.append(query)
        together.wait(timeout=30)

    records = _run(call, users, count=users * 20)
    assert sorted(queries) == list(range(users * 20))
    assert len(records) == users * 20
    assert (records.done_ns >= records.sent_ns).all()
    assert (records.sent_ns[1:] >= records.sent_ns[:-1]).all()


def test_errors_of_all_users_are_counted_by_kind():
    def call(query):
        if query % 2:
            raise ClientError(f"kind {query % 4}")

    records = _run(call, 2, count=40)
    assert records.is_kind("kind 1").sum() == records.is_kind("kind 3").sum() == 10
    assert (records.kind == 0).sum() == 20


def test_an_unexpected_exception_ends_all_users():
    def call(query):
        if query == 10:
            raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        _run(call, 2, count=10**12)
