"""The native front end of a server: C++ (engine/core/frontend), Python where that asks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine import _core
from surplus.engine.serving.access import Access
from surplus.engine.serving.address import listening_sockets
from surplus.engine.serving.certificates import Certificates
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.model_table import ModelTable
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.seen_query import SeenQuery
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.served_model import ModelState, ServedModel
from surplus.engine.serving.server_params import ServerParams
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.trouble import Trouble
from surplus.engine.values import elem_type_of

_LOOK_S = 0.005
_LOOK_AGAIN_S = 0.2
"""How soon a health check hears of a model whose devices are lost; a look costs some microseconds a
model."""
# How long a connection without queries stays, times their number; clients open others themselves.
_IDLE_NS_EACH = 100_000_000

_TROUBLES = tuple(Trouble)

_Port = tuple[str, str, int, Sequence[int] | None]


def missing_library(*, needs_tls: bool = False) -> str:
    """Why there can be no native front end; empty if there can."""
    try:
        _core.Frontend.check()
        if needs_tls:
            _core.TlsContext.check()
    except RuntimeError as error:
        return str(error)
    return ""


def missing_parser() -> str:
    """Why it cannot speak HTTP/1.1; empty if it can."""
    return _core.Frontend.rest_missing()


@dataclass(frozen=True)
class Listening:
    """A front end that listens, and its ports."""

    front: _core.Frontend
    port: int
    http_port: int | None


def listening(
    params: ServerParams,
    regions: SharedRegions,
    certificates: Certificates | None,
    access: Access,
    *,
    speaks_rest: bool,
) -> Listening:
    """Bind the ports.

    Parameters
    ----------
    regions : SharedRegions
        Where clients may have put tensors.
    certificates : Certificates or None
        What everything is encrypted with.
    access : Access
        Who may do what.
    speaks_rest : bool
        Whether it listens for HTTP, too.

    Raises
    ------
    ConfigError
        If an address cannot be bound, or OpenSSL does not take the certificates.
    """
    tls = None if certificates is None else certificates.native()
    sockets = listening_sockets(params.host, params.grpc_port)
    port: int = sockets[0].getsockname()[1]
    http_port = port if params.one_port else None
    http_sockets: list[socket.socket] = []
    if speaks_rest and params.http_port is not None:
        try:
            http_sockets = listening_sockets(params.host, params.http_port)
        except BaseException:
            for bound in sockets:
                bound.close()
            raise
        http_port = http_sockets[0].getsockname()[1]
    front = _core.Frontend(
        [
            *((bound.detach(), "either" if params.one_port else "grpc") for bound in sockets),
            *((bound.detach(), "rest") for bound in http_sockets),
        ],
        regions.table,
        most_connections=params.max_connections,
        most_streams=params.max_streams,
        most_message_bytes=params.max_message_bytes,
        idle_ns=params.max_connections * _IDLE_NS_EACH,
        body_ns=int(params.max_body_s * 1e9),
        tls=tls,
        most_of_a_client=params.max_connections_per_client,
        handshake_ns=int(params.max_handshake_s * 1e9),
    )
    access.guard(front)
    if certificates is not None:
        certificates.on_renewal(lambda: front.renew(certificates.native()))
    return Listening(front, port, http_port)


class NativeFront:
    """Tells a front end of models as they come and go.

    Parameters
    ----------
    front : _core.Frontend
        This object's from now on.
    calls : NativeCalls
        What answers the calls that the front end does not.
    max_in_flight : int
        Queries of one model.
    """

    def __init__(self, front: _core.Frontend, calls: NativeCalls, max_in_flight: int) -> None:
        self._most_in_flight = max_in_flight
        self._front = front
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._front.event_fd, self._calls.take_events)
        self._models = ModelTable()
        self._told: dict[ServedModel, tuple[bool, bool, _core.Route | None]] = {}
        self._next_look: asyncio.TimerHandle | None = None

    def watch(self, models: ModelTable) -> None:
        """Answer queries and health checks of these models, as they come and go."""
        self._models = models
        models.watch(self._look_at)
        self._front.open_readiness()
        self._look_again()

    def _look_at(self, model: ServedModel) -> None:
        """Offer a model that is ready, or offer it no more; whenever its state has changed."""
        self._tell_readiness(model)
        signature = model.ready_signature()
        if model.state is not ModelState.READY or signature is None:
            self._front.withdraw(model.name, model.version)
            return
        worker, answers = model.executor.worker, model.answers
        model.be_offered(
            self._front.offer(
                model.name,
                model.version,
                [_port(spec) for spec in signature.inputs.values()],
                [_port(spec) for spec in signature.outputs.values()],
                model.route,
                self._most_in_flight,
                model.worker,
                model.tally,
                None if answers is None else answers.core,
                model.load,
            )
        )
        if worker is not None:
            self._front.watch(worker)

    def _tell_readiness(self, model: ServedModel) -> None:
        is_ready = model.state is ModelState.READY
        state = is_ready, model.is_unloaded, model.route if is_ready else None
        if self._told.get(model) == state:
            return
        self._told[model] = state
        self._front.tell_readiness(model.name, model.version, *state)

    def _look_again(self) -> None:
        """Tell of models that can answer nothing any more, which nobody says by themselves."""
        for model in self._models:
            self._tell_readiness(model)
        self._next_look = self._loop.call_later(_LOOK_AGAIN_S, self._look_again)

    def drain(self) -> None:
        """Answer no further query but by Python, which says why."""
        self._front.drain()

    def leave(self) -> None:
        """Be ready no more, and answer queries all the same."""
        self._front.leave()

    def abandon(self) -> None:
        """Cancel what is in flight."""
        self._front.abandon()

    def end_receipts(self) -> None:
        """End calls whose messages are on their way: the process holds all that it may."""
        self._front.end_receipts()

    def observe(self, *, wanted: bool) -> None:
        """Whether to count durations by buckets and remember queries; at first it does."""
        self._front.observe(wanted)

    def recent(self) -> list[SeenQuery]:
        """The last queries that ended there."""
        return [_seen(row) for row in self._front.recent.all()]

    def sample(self, every: int, *, follows: bool) -> None:
        """As ``SeenQueries.sample``, of those."""
        self._front.recent.sample(every, follows)

    def take_sampled(self) -> list[SeenQuery]:
        """As ``SeenQueries.take_sampled``, of those."""
        return [_seen(row) for row in self._front.recent.take_sampled()]

    @property
    def in_flight(self) -> int:
        """Queries that Python does not know of."""
        return self._front.in_flight

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until none is in flight; False if some still are after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._front.in_flight:
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            return False
        return True

    async def stop(self, grace_s: float) -> None:
        """Listen no more, let answers be written, end."""
        if self._next_look is not None:
            self._next_look.cancel()
        await asyncio.to_thread(self._front.stop, grace_s)
        self._loop.remove_reader(self._front.event_fd)
        await self._calls.close()


def _port(spec: TensorSpec) -> _Port:
    elem_type = elem_type_of(DATATYPES[spec.dtype].dtype)
    return spec.name, spec.dtype, elem_type, spec.shape


def _seen(row: Sequence[Any]) -> SeenQuery:
    *told, trouble = row
    return SeenQuery._make((*told, None if trouble < 0 else _TROUBLES[trouble]))
