"""Counters of a served model."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Duration:
    """A count of events and their accumulated time."""

    count: int = 0
    total_ns: int = 0

    def add(self, duration_ns: int) -> None:
        """Count one event."""
        self.count += 1
        self.total_ns += duration_ns


@dataclass
class ModelStatistics:
    """What became of a model's queries; written by the event loop only.

    Parameters
    ----------
    success : Duration
        Queries answered, from receipt to the outputs.
    fail : Duration
        Queries that ended with an error, were turned away or cancelled.
    compute_input : Duration
        From receipt to the executor: decoding and checks. Successful queries only.
    compute_infer : Duration
        In the executor, waiting for its devices included: executors queue inside, and many
        queries share the devices at once. Successful queries only.
    """

    success: Duration = field(default_factory=Duration)
    fail: Duration = field(default_factory=Duration)
    compute_input: Duration = field(default_factory=Duration)
    compute_infer: Duration = field(default_factory=Duration)

    def record_success(self, received_ns: int, started_ns: int, finished_ns: int) -> None:
        """Count a query answered; times on one monotonic clock."""
        self.success.add(finished_ns - received_ns)
        self.compute_input.add(started_ns - received_ns)
        self.compute_infer.add(finished_ns - started_ns)
