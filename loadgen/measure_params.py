"""What is measured, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.loadgen.arrivals import ARRIVALS
from surplus.loadgen.clients.inputs import InputParams
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.transport import TransportParams


@dataclass(frozen=True)
class ArrivalParams:
    """The intended send times of an open loop: process, rate in queries per second, seed."""

    process: str = "poisson"
    rate_per_s: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.process not in ARRIVALS:
            raise ValueError(f"unknown arrivals {self.process!r}; there are: {', '.join(ARRIVALS)}")
        if not 0 < self.rate_per_s < float("inf"):
            raise ValueError(f"rate_per_s must be > 0 and finite, got {self.rate_per_s}")


@dataclass(frozen=True)
class MeasureParams:
    """What to measure: a model of a server, its inputs, a closed or an open loop.

    ``loop`` decides which; ``arrivals`` is read for an open loop only.
    """

    url: str
    model: str
    version: str = ""
    timeout_s: float = 60.0
    inputs: InputParams = field(default_factory=InputParams)
    loop: ClosedLoopParams | OpenLoopParams = field(default_factory=ClosedLoopParams)
    arrivals: ArrivalParams = field(default_factory=ArrivalParams)
    transport: TransportParams = field(default_factory=TransportParams)
