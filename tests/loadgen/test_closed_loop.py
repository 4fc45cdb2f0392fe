import pytest

from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.errors import ClientError
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder


class _Counting:
    """Takes 70 or 100 ns by turns and notes how many are in flight whenever one arrives."""

    def __init__(self, clock, fails=False):
        self.clock, self.fails = clock, fails
        self.in_flight = 0
        self.seen = []

    async def send(self, query):
        self.in_flight += 1
        self.seen.append((self.clock.now_ns(), self.in_flight))
        await self.clock.sleep_until_ns(self.clock.now_ns() + (70, 100)[query % 2])
        self.in_flight -= 1
        if self.fails:
            raise ClientError("UNAVAILABLE")


def _run(clock, client, users, **load):
    recorder = Recorder(capacity=2)
    params = ClosedLoopParams(LoadgenParams(**({"min_duration_ns": 0} | load)), users)
    clock.run(run_closed_loop(client, params, recorder, clock))
    return recorder.records()


@pytest.mark.parametrize("users", [1, 2, 3, 7, 16])
def test_exactly_n_are_in_flight_at_any_time(clock, users):
    client = _Counting(clock)
    _run(clock, client, users, min_duration_ns=2000)
    assert max(count for _, count in client.seen) == users
    # The last query to arrive at an instant finds all users busy again.
    last = dict(client.seen)
    assert set(last.values()) == {users}
    assert client.in_flight == 0


def test_each_query_starts_when_an_answer_arrives(clock):
    records = _run(clock, _Counting(clock), 1, min_count=4)
    assert list(records.sent_ns) == [0, 70, 170, 240]
    assert list(records.done_ns) == [70, 170, 240, 340]
    assert list(records.intended_ns) == list(records.sent_ns)


def test_failed_queries_are_followed_by_the_next(clock):
    records = _run(clock, _Counting(clock, fails=True), 2, min_count=6)
    assert records.is_kind("UNAVAILABLE").sum() == len(records) == 6


def test_warm_up_is_not_measured(clock):
    records = _run(clock, _Counting(clock), 1, min_duration_ns=100, warmup_ns=200)
    assert list(records.measured().sent_ns) == [240]


def test_no_users_are_refused():
    with pytest.raises(ValueError, match="users must be >= 1, got 0"):
        ClosedLoopParams(users=0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"min_duration_ns": -1}, "min_duration_ns must be >= 0, got -1"),
        ({"min_count": -1}, "min_count must be >= 0, got -1"),
        ({"warmup_ns": -1}, "warmup_ns must be >= 0, got -1"),
        ({"min_duration_ns": 0}, "min_duration_ns or min_count must be > 0"),
    ],
)
def test_lengths_out_of_range_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        LoadgenParams(**fields)
