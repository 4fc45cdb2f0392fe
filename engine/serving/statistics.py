"""Counters of a served model, as Triton's statistics extension names them.

A successful query's time falls into four parts, in their order: ``compute_input``, ``queue``,
``compute_infer``, ``compute_output``; together they are its ``success`` time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from surplus.engine import _core
from surplus.engine.serving.trouble import Trouble, trouble_of


@dataclass
class Duration:
    """A count of events and their accumulated time."""

    count: int = 0
    total_ns: int = 0

    def add(self, duration_ns: int) -> None:
        """Count one event."""
        self.count += 1
        self.total_ns += duration_ns

    def __add__(self, other: Duration) -> Duration:
        """Of both."""
        return Duration(self.count + other.count, self.total_ns + other.total_ns)


@dataclass(frozen=True)
class Moments:
    """A successful query on one monotonic clock, in nanoseconds.

    Parameters
    ----------
    received_ns, started_ns, ended_ns, answered_ns : int
        When it came, when the executor got it and gave its outputs, when they were encoded.
    """

    received_ns: int
    started_ns: int
    ended_ns: int
    answered_ns: int


@dataclass
class ModelStatistics:
    """What became of a model's queries; written by the event loop only.

    Parameters
    ----------
    success : Duration
        Queries answered, from receipt to the encoded answer.
    fail : Duration
        Queries that ended with an error, were turned away or cancelled.
    refused : Duration
        Of those that failed, queries that could not be in time or would have waited for too long.
    compute_input : Duration
        From receipt to the executor: decoding and checks. Successful queries only, as below.
    queue : Duration
        In the executor, until the first node started; may be estimated from some of them.
    compute_output : Duration
        From the outputs to the encoded answer.
    cache_hit, cache_miss : Duration
        Queries whose answers were kept, and those whose were not: to look, and to keep them.
    last_ns : int
        When the last successful query was answered, monotonic; 0 before the first.
    times : QueryTimes
        How long those took that Python answered well.
    trouble : Counter of Trouble
        Why those that Python saw were not answered, or not in time.
    """

    success: Duration = field(default_factory=Duration)
    fail: Duration = field(default_factory=Duration)
    refused: Duration = field(default_factory=Duration)
    compute_input: Duration = field(default_factory=Duration)
    queue: Duration = field(default_factory=Duration)
    compute_output: Duration = field(default_factory=Duration)
    cache_hit: Duration = field(default_factory=Duration)
    cache_miss: Duration = field(default_factory=Duration)
    last_ns: int = 0
    times: _core.QueryTimes = field(default_factory=_core.QueryTimes)
    trouble: Counter[Trouble] = field(default_factory=Counter)
    _executing: Duration = field(default_factory=Duration)

    @property
    def compute_infer(self) -> Duration:
        """From the first node's start to the outputs, later nodes' waits included."""
        inside = self._executing
        return Duration(inside.count, max(0, inside.total_ns - self.queue.total_ns))

    @property
    def computed(self) -> int:
        """Queries that were answered by the model."""
        return max(0, self.success.count - self.cache_hit.count)

    def record_native(
        self, totals: Sequence[tuple[int, int]], queued_ns: int, last_ns: int
    ) -> None:
        """Count queries that Python did not see.

        Parameters
        ----------
        totals : sequence of (int, int)
            As ``FrontModel.take_counts`` gives them.
        queued_ns : int
            What they waited for their first lane, in all.
        last_ns : int
            When the last successful one was answered; 0 if none was.
        """
        self.last_ns = max(self.last_ns, last_ns)
        success, fail, refused, compute_input, _, executing, compute_output, hit, miss = totals
        pairs = (
            (self.success, success),
            (self.fail, fail),
            (self.refused, refused),
            (self.compute_input, compute_input),
            (self.queue, (executing[0], queued_ns)),
            (self._executing, executing),
            (self.compute_output, compute_output),
            (self.cache_hit, hit),
            (self.cache_miss, miss),
        )
        for duration, (count, total_ns) in pairs:
            duration.count += count
            duration.total_ns += total_ns

    def record_success(self, moments: Moments, queued_ns: int) -> None:
        """Count a query answered.

        Parameters
        ----------
        queued_ns : int
            By how much the executor's waits have grown since the last one.
        """
        self.last_ns = moments.answered_ns
        self.success.add(moments.answered_ns - moments.received_ns)
        self.compute_input.add(moments.started_ns - moments.received_ns)
        self.queue.add(queued_ns)
        executing_ns = moments.ended_ns - moments.started_ns
        self._executing.add(executing_ns)
        self.compute_output.add(moments.answered_ns - moments.ended_ns)
        whole_ns = moments.answered_ns - moments.received_ns
        self.times.add(whole_ns, executing_ns, max(0, queued_ns))

    def record_kept(self, moments: Moments) -> None:
        """Count a query whose answer was there already: nothing of it was computed."""
        self.last_ns = moments.answered_ns
        whole_ns = moments.answered_ns - moments.received_ns
        self.success.add(whole_ns)
        self.times.add(whole_ns, 0, 0)

    def record_failure(self, error: BaseException, duration_ns: int) -> None:
        """Count a query that this error ended, so long after its receipt."""
        trouble = trouble_of(error)
        self.fail.add(duration_ns)
        self.trouble[trouble] += 1
        if trouble is Trouble.REFUSED:
            self.refused.add(duration_ns)
