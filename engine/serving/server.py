"""The server: listens, answers, and on SIGTERM finishes what it began.

Long because what of it is started must be ended, whichever of it fails to start.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import grpc

from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.errors import ConfigError
from surplus.engine.serving.access import Access, TokensWatch
from surplus.engine.serving.address import address_text, cannot_listen, check_address
from surplus.engine.serving.certificates import Certificates
from surplus.engine.serving.data_plane import DataPlane, DataPlaneParams
from surplus.engine.serving.descriptions import ServerIdentity
from surplus.engine.serving.exposure import warn_of_exposure
from surplus.engine.serving.grpc_access import RightsChecked
from surplus.engine.serving.grpc_face import GrpcFace
from surplus.engine.serving.grpc_health import health_handler
from surplus.engine.serving.grpc_reflection import reflection_handlers
from surplus.engine.serving.grpc_tails import tails_handler
from surplus.engine.serving.http_face import HttpFace
from surplus.engine.serving.http_if_possible import http_if_possible
from surplus.engine.serving.limited_memory import LimitedMemory
from surplus.engine.serving.metrics_listener import MetricsListener, listen_for_metrics
from surplus.engine.serving.native_calls import NativeCalls
from surplus.engine.serving.native_front import (
    NativeFront,
    listening,
    missing_library,
    missing_parser,
)
from surplus.engine.serving.native_requests import NativeRequests
from surplus.engine.serving.observation import ObservationPaths
from surplus.engine.serving.receipts import Receipts
from surplus.engine.serving.reporting.reports import Reports, sinks_of, trace_settings
from surplus.engine.serving.server_params import LARGEST_MESSAGE_BYTES, FrontEnd, ServerParams
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.tokens_file import read_tokens

if TYPE_CHECKING:
    from surplus.engine.serving.http_listener import HttpListener

_LOG = logging.getLogger(__name__)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_FLUSH_GRACE_S = 1.0  # for answers that are computed but not yet written
# Calls that wait for the event loop: beyond 1000, as it is by default, some would end as CANCELLED
# at random. Each holds some 10 kB, those that a client has cancelled, too.
_PENDING = 24_576
# How long a connection without queries stays, times their number; clients open others themselves.
_IDLE_MS_EACH = 100


class AsyncServer:
    """Serves a data plane over gRPC, and over HTTP if wanted; one event loop, one start.

    Enter models in ``server.plane.models`` before or after the start, from that event loop.
    """

    def __init__(self, params: ServerParams | None = None) -> None:
        self._params = params or ServerParams()
        self.plane = DataPlane(
            DataPlaneParams(self._params.max_in_flight, self._params.response_cache_bytes)
        )
        self.plane.regions = SharedRegions(
            self._params.max_message_bytes, is_open=self._params.shares_memory
        )
        self._grpc: grpc.aio.Server | None = None
        self._native: NativeFront | None = None
        self._native_http_port: int | None = None
        self._http: HttpListener | None = None
        self._observation = ObservationPaths(self.plane, has_metrics=self._params.metrics)
        self._metrics: MetricsListener | None = None
        self._memory: LimitedMemory | None = None
        self._held_elsewhere: Callable[[], int] = lambda: 0
        self._closers: list[Callable[[], Awaitable[object]]] = []
        self._receipts = Receipts()
        self._certificates: Certificates | None = None
        self._access = Access(open_rights=self._params.anybodys_rights)
        self._tokens: TokensWatch | None = None
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()

    async def start(self) -> int:
        """Bind and begin to answer.

        Returns
        -------
        int
            The port bound for gRPC; ``http_port`` is that of HTTP.

        Raises
        ------
        ConfigError
            If an address cannot be bound, for example because the port is in use, HTTP is wanted
            and aiohttp is not installed, or a file of TLS does not do.
        """
        if path := self._params.tokens:
            self._access.renew(read_tokens(path))
        self._params = http_if_possible(self._params)
        self.plane.traces = trace_settings(self._params.reports)
        rest, sinks = None, sinks_of(self._params.reports, self.plane.traces)
        if self._params.http_port is not None or self._params.one_port:
            most_bytes = self._params.max_message_bytes
            rest = HttpFace(
                self.plane, self._identity(), most_bytes, self._access, self._observation
            )
        if (files := self._params.tls) is not None:
            self._certificates = Certificates(files)
        try:
            is_native = self._is_native()
            if rest is not None and not (is_native and self._speaks_rest()):
                self._http = await self._start_http(rest)
                rest = None
            self._metrics = await listen_for_metrics(
                self.plane,
                self._observation,
                self._params,
                self._certificates,
                self._access,
                is_native=is_native and not missing_parser(),
            )
            port = await self._start_grpc(rest, is_native=is_native)
            if sinks:
                self.close_with(Reports(self.plane, self._params.reports, sinks).close)
        except BaseException:
            for listener in (self._http, self._metrics):
                if listener is not None:
                    await listener.stop()
            if self._certificates is not None:
                self._certificates.close()
            raise
        if self._params.memory_limit_bytes:
            self._memory = LimitedMemory(
                self._params.memory_limit_bytes, self._relieve, self._resident_bytes
            )
            self.plane.memory = self._memory.account
        if path:
            self._tokens = TokensWatch(path, self._access)
        warn_of_exposure(self._params)
        return port

    def look_at_tokens(self) -> None:
        """Read the file of tokens now if it has changed. From the server's event loop."""
        if self._tokens is not None:
            self._tokens.look()

    @property
    def http_port(self) -> int | None:
        """The port bound for HTTP; None before the start, or if it is not served."""
        if self._native_http_port is not None:
            return self._native_http_port
        return None if self._http is None else self._http.port

    @property
    def metrics_port(self) -> int | None:
        """The further port bound for metrics; None before the start, or without it."""
        return None if self._metrics is None else self._metrics.port

    async def _start_grpc(self, rest: HttpFace | None, *, is_native: bool) -> int:
        face = GrpcFace(self.plane, self._identity(), self._receipts, self._access)
        services = (
            face.service_handler(),
            tails_handler(self.plane),
            health_handler(self.plane),
            *reflection_handlers(),
        )
        handlers = tuple(RightsChecked(service, self._access) for service in services)
        if is_native:
            bound = listening(
                self._params,
                self.plane.regions,
                self._certificates,
                self._access,
                speaks_rest=rest is not None,
            )
            front, most_bytes = bound.front, self._params.max_message_bytes
            requests = None if rest is None else NativeRequests(front, rest, self.plane)
            calls = NativeCalls(front, handlers, face.answer_item, most_bytes, requests)
            self._native = native = NativeFront(front, calls, self._params.max_in_flight)
            self._native_http_port = bound.http_port
            native.observe(wanted=self._params.metrics or self._params.reports.is_wanted)
            self.plane.front = native
            native.watch(self.plane.models)
            return bound.port
        host, wanted = self._params.host, self._params.grpc_port
        check_address(host, wanted)
        server = grpc.aio.server(options=_options(self._params))
        server.add_generic_rpc_handlers(handlers)
        try:
            port = self._grpc_port(server, address_text(host, wanted))
        except RuntimeError as error:
            raise cannot_listen(host, wanted, "gRPC's log says why") from error
        await server.start()
        self._grpc = server
        return port

    def _grpc_port(self, server: grpc.aio.Server, address: str) -> int:
        if self._certificates is None:
            return int(server.add_insecure_port(address))
        return int(server.add_secure_port(address, self._certificates.for_grpc()))

    def _is_native(self) -> bool:
        """Whether our own front end speaks gRPC.

        Raises
        ------
        ConfigError
            If it is to, and cannot.
        """
        if self._params.front_end is FrontEnd.PYTHON:
            return False
        missing = missing_library(needs_tls=self._certificates is not None)
        if missing and (self._params.front_end is FrontEnd.NATIVE or self._params.one_port):
            raise ConfigError(f"the native front end cannot serve: {missing}")
        if missing:
            _LOG.warning("gRPC by Python, which is slower: %s", missing)
        return not missing

    def _speaks_rest(self) -> bool:
        """Whether our own front end speaks HTTP, too; raises as ``_is_native``."""
        missing = missing_parser()
        if missing and (self._params.front_end is FrontEnd.NATIVE or self._params.one_port):
            raise ConfigError(f"the native front end cannot serve HTTP: {missing}")
        if missing:
            _LOG.warning("HTTP by Python, which is slower: %s", missing)
        return not missing

    async def _start_http(self, face: HttpFace) -> HttpListener:
        try:
            from surplus.engine.serving.http_listener import listen
        except ImportError as error:
            raise ConfigError(
                "HTTP needs aiohttp: pip install 'surplus-engine[http]', or serve gRPC"
            ) from error
        host, port = self._params.host, self._params.http_port
        assert port is not None, "said by who wants it"
        check_address(host, port)
        try:
            tls = None if self._certificates is None else self._certificates.for_http()
            return await listen(self.plane, face, self._params, tls)
        except OSError as error:
            raise cannot_listen(host, port, str(error.strerror)) from error

    def _identity(self) -> ServerIdentity:
        return ServerIdentity(self._params.name)

    async def serve_until_stopped(self, announce: Callable[[], None] = lambda: None) -> bool:
        """Serve until SIGTERM or SIGINT, then drain and close.

        A second signal ends the drain at once.

        Parameters
        ----------
        announce : callable
            Called once signals are handled: who hears of the server may stop it.

        Returns
        -------
        bool
            Whether every query in flight finished within the drain's timeout.
        """
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        try:
            announce()
            await self._stop.wait()
            return await self.stop()
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

    async def stop(self) -> bool:
        """Drain, stop listening, close the models; returns as :meth:`serve_until_stopped`.

        While it drains, the server answers: it is live, not ready, and infer is UNAVAILABLE.
        Before, for ``drain_delay_s``, it is not ready and takes queries; a second signal ends that.
        """
        await self._leave()
        _LOG.info("draining: %d queries in flight", self.plane.in_flight)
        finished = await self.plane.drain(self._params.drain_timeout_s)
        if self._tokens is not None:
            self._tokens.close()
        if self._grpc is not None:
            await self._grpc.stop(_FLUSH_GRACE_S)
        if self._native is not None:
            await self._native.stop(_FLUSH_GRACE_S)
        for listener in (self._http, self._metrics):
            if listener is not None:
                await listener.stop()
        if self._certificates is not None:
            self._certificates.close()
        for close in self._closers:
            await close()
        await asyncio.to_thread(self.plane.close)
        if self._memory is not None:
            await self._memory.close()
        _LOG.info("stopped")
        return finished

    async def _leave(self) -> None:
        self.plane.leave()
        delay_s = self._params.drain_delay_s
        if not delay_s:
            return
        _LOG.info("not ready any more; queries are taken for %g s", delay_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await self._hurry.wait()

    def request_stop(self) -> None:
        """End ``serve_until_stopped`` as a first signal does. From the server's event loop."""
        self._stop.set()

    def hurry(self) -> None:
        """End a stop that goes on: cancel what is in flight. From the server's event loop."""
        self._hurry.set()
        self.plane.abandon()

    def close_with(self, close: Callable[[], Awaitable[object]]) -> None:
        """Await that when the server has drained, before it closes the models."""
        self._closers.append(close)

    def measure_with(self, held_elsewhere: Callable[[], int]) -> None:
        """Count what that returns as this server's memory: that of processes that work for it."""
        self._held_elsewhere = held_elsewhere

    def _resident_bytes(self) -> int:
        return resident_bytes() + self._held_elsewhere()

    def _relieve(self, whatever: bool) -> None:
        self._receipts.end(streams=whatever)
        if self._native is not None:
            self._native.end_receipts()

    def _on_signal(self) -> None:
        if self._stop.is_set():
            self.hurry()
        self._stop.set()


def _options(params: ServerParams) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", params.max_message_bytes),
        ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
        ("grpc.max_allowed_incoming_connections", params.max_connections),
        # Who connects and says nothing would hold a file descriptor for 2 minutes.
        ("grpc.server_handshake_timeout_ms", max(1, int(params.max_handshake_s * 1e3))),
        ("grpc.max_concurrent_streams", params.max_streams),
        ("grpc.server.max_pending_requests", _PENDING),
        ("grpc.server.max_pending_requests_hard_limit", _PENDING),
        ("grpc.max_connection_idle_ms", params.max_connections * _IDLE_MS_EACH),
        # Else a second server shares the port in silence, and each gets half of the queries.
        ("grpc.so_reuseport", 0),
    ]
