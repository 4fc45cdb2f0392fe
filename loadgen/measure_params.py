"""What is measured, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.loadgen.arrivals import ArrivalProcess
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.transport import TransportParams


@dataclass(frozen=True)
class MeasureParams:
    """What to measure: models of a target, in a closed or an open loop.

    Parameters
    ----------
    url : str
        Of the server; empty for models in this process.
    models : tuple of AskedModel
        At least one; several share the queries by their weights.
    loop : ClosedLoopParams or OpenLoopParams
    process : ArrivalProcess or None
        When queries leave; of an open loop, which needs one.
    seed : int
        Of arrivals, and of which model each query asks.
    transport : TransportParams
    """

    url: str
    models: tuple[AskedModel, ...]
    loop: ClosedLoopParams | OpenLoopParams = field(default_factory=ClosedLoopParams)
    process: ArrivalProcess | None = None
    seed: int = 0
    transport: TransportParams = field(default_factory=TransportParams)

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("there is no model to ask")
        names = [(model.name, model.version) for model in self.models]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"model {min(twice)[0]!r} is asked twice")
        if isinstance(self.loop, OpenLoopParams) != (self.process is not None):
            raise ValueError("an open loop needs a process of arrivals, and a closed one none")
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")

    @property
    def is_open(self) -> bool:
        """Whether it is an open loop."""
        return isinstance(self.loop, OpenLoopParams)

    @property
    def title(self) -> str:
        """What is asked where, for people."""
        names = ", ".join(model.name for model in self.models)
        return f"{names} at {self.url}" if self.url else f"{names} by {self.transport.protocol}"
