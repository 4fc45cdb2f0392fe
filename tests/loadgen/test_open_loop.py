import pytest

from surplus.loadgen.errors import ClientError
from surplus.loadgen.open_loop import OpenLoopParams, run_open_loop
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import OVERFLOW, Recorder


class _Timed:
    """Answers each query after ``time_ns``."""

    def __init__(self, clock, time_ns, fails=()):
        self.clock, self.time_ns, self.fails = clock, time_ns, fails
        self.sent_at_ns = []

    async def send(self, query):
        self.sent_at_ns.append(self.clock.now_ns())
        await self.clock.sleep_until_ns(self.clock.now_ns() + self.time_ns)
        if query in self.fails:
            raise ClientError("RESOURCE_EXHAUSTED")


def _run(clock, client, offsets_ns, max_outstanding=100, **load):
    recorder = Recorder(capacity=1)
    params = OpenLoopParams(LoadgenParams(**({"min_duration_ns": 0} | load)), max_outstanding)
    clock.run(run_open_loop(client, iter(offsets_ns), params, recorder, clock))
    return recorder.records()


def test_queries_leave_at_their_times_while_earlier_ones_are_still_out(clock):
    client = _Timed(clock, time_ns=1000)
    records = _run(clock, client, range(0, 10_000, 100), min_duration_ns=500)
    assert client.sent_at_ns == [0, 100, 200, 300, 400]
    assert list(records.done_ns) == [1000, 1100, 1200, 1300, 1400]


def test_latency_counts_from_the_intended_time_when_the_generator_is_held_up(clock):
    class Stalling:
        """The first send holds up the whole process for 1000 ns, as a busy core would."""

        async def send(self, query):
            if query == 0:
                clock._now_ns += 1000

    records = _run(clock, Stalling(), range(0, 10_000, 100), min_duration_ns=500)
    assert list(records.intended_ns) == [0, 100, 200, 300, 400]
    assert list(records.sent_ns) == [0, 1000, 1000, 1000, 1000]
    assert list(records.done_ns - records.intended_ns) == [1000, 900, 800, 700, 600]


def test_queries_beyond_the_bound_are_not_sent_and_counted(clock):
    client = _Timed(clock, time_ns=250)
    records = _run(clock, client, range(0, 1000, 100), max_outstanding=2, min_count=6)
    assert client.sent_at_ns == [0, 100, 300, 400]
    assert list(records.is_kind(OVERFLOW)) == [False, False, True, False, False, True]


def test_errors_are_recorded_by_kind_with_their_time(clock):
    records = _run(clock, _Timed(clock, 10, fails={1}), range(0, 1000, 100), min_count=3)
    assert list(records.is_kind("RESOURCE_EXHAUSTED")) == [False, True, False]
    assert list(records.done_ns) == [10, 110, 210]


def test_warm_up_is_sent_but_not_measured(clock):
    client = _Timed(clock, time_ns=1)
    records = _run(clock, client, range(0, 10_000, 100), min_duration_ns=300, warmup_ns=250)
    assert client.sent_at_ns == [0, 100, 200, 300, 400, 500]
    assert list(records.measured().intended_ns) == [300, 400, 500]


def test_both_minima_must_be_reached(clock):
    by_count = _run(clock, _Timed(clock, 1), range(0, 10_000, 100), min_duration_ns=1, min_count=5)
    assert len(by_count) == 5


def test_an_unexpected_exception_ends_the_run(clock):
    class Broken:
        async def send(self, query):
            raise RuntimeError("bug")

    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="bug")):
        _run(clock, Broken(), range(0, 10_000, 100), min_count=5)


def test_a_bound_below_one_is_refused():
    with pytest.raises(ValueError, match="max_outstanding must be >= 1, got 0"):
        OpenLoopParams(max_outstanding=0)
