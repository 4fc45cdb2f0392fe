"""What a scenario's file may hold: a class a table, a field a key; docs/COLOCATION.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S, NS_PER_US
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Service, ServingDevice

_END_NS = 2**62
Seconds = Annotated[float, Meta(ge=0, lt=_END_NS / NS_PER_S)]
Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Options = dict[str, Any]
"""A table whose ``kind`` names an implementation, and that one's options."""
_NONE: Options = {"kind": "none"}


@dataclass(frozen=True, kw_only=True)
class DeviceTable:
    """``[[device]]``: the fields of ``ServingDevice``."""

    name: str
    memory_bytes: Annotated[int, Meta(ge=0)] | None = None
    lanes: int = 1
    cores: int = 0

    def read(self) -> ServingDevice:
        """The device; ``ValueError`` if a number is out of range."""
        return ServingDevice(self.name, self.memory_bytes, self.lanes, self.cores)


@dataclass(frozen=True, kw_only=True)
class ServiceTable:
    """``[[service]]``: the fields of ``Service``, its profile, and the load on it."""

    name: str
    slo_ms: Annotated[float, Meta(ge=1 / NS_PER_MS, lt=_END_NS / NS_PER_MS)]
    profile: Options
    load: Options
    items: Annotated[tuple[Count, ...], Meta(min_length=1)] = (1,)
    sequences: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)] = (0,)
    max_batch: int | None = None
    operators: int = 1
    max_queue: int | None = None
    memory_bytes: int = 0

    @property
    def most_items(self) -> int:
        """Of a batch."""
        return max(self.items) if self.max_batch is None else self.max_batch

    def read(self) -> Service:
        """The service.

        Raises
        ------
        ValueError
            If a number is out of range, or a query is larger than a batch may be.
        """
        service = Service(
            self.name,
            round(self.slo_ms * NS_PER_MS),
            self.most_items,
            self.operators,
            self.max_queue,
            self.memory_bytes,
        )
        if max(self.items) > service.max_batch:
            text = f"queries of {max(self.items)} items do not fit max_batch {service.max_batch}"
            raise ValueError(f"service {self.name!r}: {text}")
        return service


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """``[truth.measured]``: a file of groups' measured times."""

    path: str


@dataclass(frozen=True, kw_only=True)
class TruthTable:
    """``[truth]``: what policies are not told."""

    noise: Options = field(default_factory=lambda: _NONE)
    overlap: float = 0.0
    measured: MeasuredTable | None = None
    side_by_side: Literal["", "lanes", "streams"] = ""
    interference: Options = field(default_factory=lambda: _NONE)
    spawn_us: Annotated[float, Meta(ge=0, lt=_END_NS / NS_PER_US)] = 0.0


@dataclass(frozen=True, kw_only=True)
class ChangeTable:
    """``[[change]]``: a device or a service that goes or comes."""

    at_s: Seconds
    state: str
    device: str = ""
    service: str = ""


@dataclass(frozen=True, kw_only=True)
class ReorganiseTable:
    """``[reorganise]``: how deployments follow; what is not said is as in the params' class."""

    period_s: Annotated[float, Meta(ge=1e-3, lt=_END_NS / NS_PER_S)] | None = None
    takes_s: Seconds | None = None
    window_s: Annotated[float, Meta(ge=1e-3, lt=_END_NS / NS_PER_S)] | None = None
    threshold: float = ReorganisationParams().threshold
    windows: int = ReorganisationParams().windows

    def read(self) -> ReorganisationParams:
        """The parameters; ``ValueError`` if a number is out of range."""
        times_s = (self.period_s, self.takes_s, self.window_s)
        given = {
            name: round(time_s * NS_PER_S)
            for name, time_s in zip(_TIMES, times_s, strict=True)
            if time_s is not None
        }
        return ReorganisationParams(**given, threshold=self.threshold, windows=self.windows)


_TIMES = ("period_ns", "reorganisation_ns", "window_ns")


@dataclass(frozen=True, kw_only=True)
class LiveTable:
    """``[live]``: on what devices and with what models it is served."""

    devices: str
    models: dict[str, str]
    shares: tuple[Count, ...] = ()
    compiled: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ScenarioTables:
    """A scenario's file as it is written; the names of the tables are in the singular."""

    duration_s: Annotated[float, Meta(ge=1 / NS_PER_S, lt=_END_NS / NS_PER_S)]
    seed: int
    policies: Annotated[tuple[str, ...], Meta(min_length=1)]
    device: Annotated[tuple[DeviceTable, ...], Meta(min_length=1)]
    service: Annotated[tuple[ServiceTable, ...], Meta(min_length=1)]
    name: str = ""
    truth: TruthTable = field(default_factory=TruthTable)
    drain_s: Seconds | None = None
    policy_options: dict[str, Options] = field(default_factory=dict)
    change: tuple[ChangeTable, ...] = ()
    reorganise: ReorganiseTable | None = None
    live: LiveTable | None = None

    @property
    def device_names(self) -> Sequence[str]:
        """By device."""
        return [table.name for table in self.device]

    @property
    def service_names(self) -> Sequence[str]:
        """By service."""
        return [table.name for table in self.service]
