"""Which block of a query is next: its layers, its version, its cores.

References
----------
VELTAIR (ASPLOS'22), sections 4.2 and 4.3, Algorithms 2 and 3. What the text leaves open: a block
takes more cores than it needs, up to ``Avg_C`` and the threshold, as long as cores times time grow
by no more than ``extra`` (the text calls the threshold the cores that a block "can use beyond" the
average, Algorithm 2 gives it the fewest that do); models count with their ``Avg_C`` from their
first block to their last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.policies.veltair.granularity import cut_of
from surplus.colocation.policies.veltair.layer_blocks import thresholds
from surplus.colocation.policies.veltair.model_times import ModelTimes, Needs
from surplus.colocation.policies.veltair.pressure import LinearProxy, held_by_others
from surplus.colocation.policies.veltair.rooms import Room, largest
from surplus.colocation.policies.veltair.versions import VersionChoice

PROXIES = ("cores", "machine")


@runtime_checkable
class KnowsLayers(Protocol):
    """A predictor that knows models layer by layer."""

    def model(self, service: int, items: int, sequence: int, cores: int) -> ModelTimes:
        """Times of a model on a partition of so many cores."""
        ...


def layered(predictor: object) -> KnowsLayers:
    """The predictor, if it knows layers.

    Raises
    ------
    ValueError
        If it does not.
    """
    if not isinstance(predictor, KnowsLayers):
        raise ValueError("needs a predictor that knows layers")
    return predictor


@dataclass(frozen=True)
class BlockParams:
    """How blocks are chosen.

    Parameters
    ----------
    granularity : str
        ``blocks`` (Alg. 2), ``model`` or ``fixed``.
    layers : int
        Of a fixed block.
    extra : float
        Share by which cores times time of a block may grow for the sake of its speed; 0 gives each
        block the fewest cores that keep its target.
    versions : bool
        Choose versions by pressure, and count with the slowdown; else always the first one.
    hysteresis : float
        See ``VersionChoice``.
    proxy : str
        What pressure is read from: ``cores`` that others hold, or the ``machine`` where it tells
        something, and the cores where not (simulations).

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    granularity: str = "blocks"
    layers: int = 1
    extra: float = 0.0
    versions: bool = False
    hysteresis: float = 0.03
    proxy: str = "cores"

    def __post_init__(self) -> None:
        cut_of(self.granularity, self.layers)
        if not min(self.extra, self.hysteresis) >= 0:
            text = f"got {self.extra} and {self.hysteresis}"
            raise ValueError(f"extra and hysteresis must be >= 0, {text}")
        if self.proxy not in PROXIES:
            raise ValueError(f"proxy must be one of {PROXIES}, got {self.proxy!r}")

    @property
    def reads_machine(self) -> bool:
        """Whether the machine's own reading is wanted."""
        return self.versions and self.proxy == "machine"


class Block(NamedTuple):
    """Layers that are to run.

    Parameters
    ----------
    query : Query
    first, end : int
    version : int
    needed, cores : int
        Cores that keep the target, and those that it gets.
    alone_ns, predicted_ns : int
        Time without and with pressure.
    sensitivity, reading : float
        Of the version, and of the proxy; 0 where pressure is not looked at.
    """

    query: Query
    first: int
    end: int
    version: int
    needed: int
    cores: int
    alone_ns: int
    predicted_ns: int
    sensitivity: float
    reading: float


class BlockChoice:
    """Cuts what is left of a query."""

    def __init__(self, predictor: KnowsLayers, params: BlockParams) -> None:
        self._predictor = predictor
        self._params = params
        self._cut = cut_of(params.granularity, params.layers)
        self._by_load = params.granularity == "blocks" or params.extra > 0
        self._proxy = LinearProxy()
        self._versions: dict[int, VersionChoice] = {}

    def next(
        self, state: State, query: Query, room: Room, paused: Sequence[Query] = ()
    ) -> Block | None:
        """The next block, on as many of the cores it needs as are free; None if none is.

        Parameters
        ----------
        state : State
        query : Query
        room : Room
        paused : sequence of Query
            Who has begun on the room's device and waits for cores.
        """
        model = self.model(query, room.cores)
        reading = pressure = 0.0
        if self._params.versions:
            reading = self._reading(state, room)
            pressure = self._proxy.at(reading)
        version = self._version(query.service, model, pressure)
        needs = model.needs(version, model.slowdown(version, pressure))
        others = [*_running(state, room), *paused]
        limit = needs.average + self._threshold(others, query, needs, room)
        first, end, needed = self._cut(needs, state.progress.get(query.id, 0), limit)
        cores = largest(needs.profile.cores, min(needed, room.free))
        if cores == 0:
            return None
        if cores == needed:
            cores = self._faster(needs, first, end, cores, min(limit, room.free))
        alone_ns = needs.profile.block_ns(first, end, cores)
        predicted_ns = round(alone_ns * model.slowdown(version, pressure))
        sensitivity = model.sensitivities[version] if self._params.versions else 0.0
        row = (version, needed, cores, alone_ns, predicted_ns, sensitivity, reading)
        return Block(query, first, end, *row)

    def model(self, query: Query, cores: int) -> ModelTimes:
        """What is known of a query's model."""
        return self._predictor.model(query.service, query.items, query.sequence, cores)

    def took(self, block: Block, took_ns: int) -> None:
        """Learn what pressure there was from how long a block took."""
        if block.sensitivity:
            slowdown = took_ns / block.alone_ns
            self._proxy.observe(block.reading, (slowdown - 1.0) / block.sensitivity)

    def _reading(self, state: State, room: Room) -> float:
        if self._params.reads_machine and state.pressure is not None:
            return state.pressure
        return held_by_others(state, room.device, room.cores)

    def _version(self, service: int, model: ModelTimes, pressure: float) -> int:
        if not self._params.versions or len(model.versions) == 1:
            return 0
        if service not in self._versions:
            cores = model.needs(0).average
            times = [own.block_ns(0, model.layers, cores) for own in model.versions]
            choice = VersionChoice(times, model.sensitivities, self._params.hysteresis)
            self._versions[service] = choice
        return self._versions[service].at(pressure)

    def _threshold(self, begun: Sequence[Query], query: Query, needs: Needs, room: Room) -> int:
        """Cores beyond ``Avg_C`` that the load leaves to this query; 0 where nobody asks."""
        if not self._by_load:
            return 0
        others = (other for other in begun if other.id != query.id)
        averages = [self.model(other, room.cores).needs(0).average for other in others]
        return thresholds(room.cores, [needs.average, *averages])[0]

    def _faster(self, needs: Needs, first: int, end: int, least: int, most: int) -> int:
        """The fastest number of cores that wastes little."""
        if not self._params.extra:
            return least
        profile = needs.profile
        allowed = profile.block_ns(first, end, least) * least * (1.0 + self._params.extra)
        counts = [c for c in profile.cores if least <= c <= most]
        kept = [c for c in counts if profile.block_ns(first, end, c) * c <= allowed]
        return min(kept, key=lambda c: (profile.block_ns(first, end, c), c), default=least)


def _running(state: State, room: Room) -> Iterator[Query]:
    """Who runs on a device."""
    partitions = state.deployment.partitions
    for group in state.running:
        if group is not None and partitions[group.partition].device == room.device:
            yield group.pieces[0].queries[0]
