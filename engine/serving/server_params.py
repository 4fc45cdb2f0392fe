"""Where and how to serve: checked before what serves is imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from surplus.engine.serving.loopback import is_loopback
from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.rights import Right
from surplus.engine.serving.tls_files import TlsFiles

LARGEST_MESSAGE_BYTES = 2**31 - 1
MAX_WAIT_MS = 1000.0
"""How long a query that is not due may wait, by default, before it is refused."""
MAX_MESSAGE_BYTES = 64 << 20
MAX_STREAMS = 2**31 - 1
"""By default: any number."""
GRPC_PORT = 8001
HTTP_PORT = 8000
METRICS_PORT = 8002
"""Of ``engine serve`` by default, as Triton has it."""
MAX_IN_FLIGHT = 1024
"""By default: what waits is bounded by time, and this bounds memory."""


class FrontEnd(StrEnum):
    """Our own (``NATIVE``), gRPC's for Python and aiohttp's, or ours where it can be."""

    AUTO = "auto"
    NATIVE = "native"
    PYTHON = "python"


@dataclass(frozen=True)
class ServerParams:
    """Where and how to serve.

    Parameters
    ----------
    host : str
        Address to bind; only this machine by default.
    grpc_port : int
        0 lets the system choose.
    http_port : int or None
        The same for HTTP; None: it has no port of its own.
    needs_http_port : bool
        Whether the server does not start where that cannot be served; else it says so.
    one_port : bool
        Whether HTTP is answered on gRPC's port, too: the first bytes of a connection tell. Of the
        native front end alone.
    metrics : bool
        Whether there is ``/metrics``; without, and without reports, the front end counts no
        durations by buckets and remembers no query.
    metrics_port : int or None
        A further port for what observes the server, over HTTP; None: only HTTP's has it.
    needs_metrics_port : bool
        Whether the server does not start where that cannot be bound; else it says so.
    reports : ReportParams
        Of which queries somebody is told, and who.
    max_in_flight : int
        Queries of one model between admission and answer, for the sake of memory.
    drain_timeout_s : float
        How long a stopping server lets queries in flight finish.
    max_message_bytes : int
        Largest request; a larger one gets RESOURCE_EXHAUSTED, or 413 over HTTP.
        So does one that is larger once it is decompressed.
    memory_limit_bytes : int
        What the process may hold, queries and all; what would exceed it is refused as above, with
        429 over HTTP. 0 is no limit.
    response_cache_bytes : int
        What answers may take that are kept, of models whose configurations ask for that; 0: none
        is kept.
    max_connections : int
        Open at once, of gRPC and of HTTP each. Beyond, gRPC closes new ones, and HTTP those that
        ask nothing.
    max_connections_per_client : int
        Of one address, where the native front end listens; 0 is no limit, as for a proxy, behind
        which all clients have its address.
    front_end : FrontEnd
        What speaks gRPC and HTTP.
    max_streams : int
        Calls at once on one gRPC connection; a client keeps further ones to itself.
    max_body_s : float
        How long a request's body may take over HTTP, and its head, and a kept connection without
        a request; then the connection ends, with 408 if a head has come.
    max_handshake_s : float
        How long who has connected may take to say what is spoken; of TLS, until that is agreed on.
    name : str
        What ServerMetadata answers.
    shared_memory : bool or None
        Whether clients may register shared memory, and so reach all that this user has; None: where
        the host lets only this machine ask.
    tls_cert, tls_key, tls_client_ca : str
        PEM files: with the first two everything is encrypted, with the third clients need
        certificates of these authorities, too (``TlsFiles``).
    tokens : str
        The file of who may do what (``tokens_file.py``); without one anybody who reaches the server
        may do all, but for loading and unloading models from another machine.
    open_rights : tuple of Right
        What needs no token where there are tokens.
    drain_delay_s : float
        How long a stopping server that is not ready any more still takes queries, for who sends
        them by its readiness to notice.
    """

    host: str = "127.0.0.1"
    grpc_port: int = GRPC_PORT
    http_port: int | None = None
    max_in_flight: int = MAX_IN_FLIGHT
    drain_timeout_s: float = 30.0
    max_message_bytes: int = MAX_MESSAGE_BYTES
    memory_limit_bytes: int = 0
    response_cache_bytes: int = 0
    max_connections: int = 4096
    max_connections_per_client: int = 0
    front_end: FrontEnd = FrontEnd.AUTO
    max_streams: int = MAX_STREAMS
    max_body_s: float = 60.0
    max_handshake_s: float = 5.0
    name: str = "surplus"
    shared_memory: bool | None = None
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    one_port: bool = False
    tokens: str = ""
    open_rights: tuple[Right, ...] = (Right.HEALTH,)
    drain_delay_s: float = 0.0
    metrics: bool = True
    metrics_port: int | None = None
    needs_metrics_port: bool = True
    needs_http_port: bool = True
    reports: ReportParams = field(default_factory=ReportParams)

    def __post_init__(self) -> None:
        for name in ("grpc_port", "http_port", "metrics_port"):
            port = getattr(self, name)
            if port is not None and not 0 <= port <= 65535:
                raise ValueError(f"{name} is {port}, must be in 0..65535")
        if self.one_port and self.http_port is not None:
            raise ValueError(f"http_port is {self.http_port}, and one_port leaves HTTP none")
        if self.one_port and self.front_end is FrontEnd.PYTHON:
            raise ValueError("one_port is of the native front end, and front_end is python")
        if self.metrics_port is not None and not self.metrics:
            raise ValueError(f"metrics_port is {self.metrics_port}, and metrics are not wanted")
        if self.needs_metrics_port and self.shares_metrics_port:
            raise ValueError(f"metrics_port is {self.metrics_port}, which is gRPC's or HTTP's")
        for name in ("drain_timeout_s", "drain_delay_s"):
            if not getattr(self, name) >= 0:  # nan, too
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 0")
        if not 0 < self.max_message_bytes <= LARGEST_MESSAGE_BYTES:
            raise ValueError(
                f"max_message_bytes is {self.max_message_bytes}, "
                f"must be in 1..{LARGEST_MESSAGE_BYTES}"
            )
        for name in ("max_in_flight", "max_connections", "max_streams"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 1")
        for name in ("memory_limit_bytes", "response_cache_bytes", "max_connections_per_client"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, must be at least 0")
        for name in ("max_body_s", "max_handshake_s"):
            if not getattr(self, name) > 0:  # nan, too
                raise ValueError(f"{name} is {getattr(self, name)}, must be above 0")
        if bool(self.tls_cert) != bool(self.tls_key):
            raise ValueError("tls_cert and tls_key go together")
        if self.tls_client_ca and not self.tls_cert:
            raise ValueError("tls_client_ca needs tls_cert and tls_key")
        if Right.REPOSITORY in self.open_rights:
            raise ValueError("open_rights has 'repository', which needs a token whatever is open")

    @property
    def shares_metrics_port(self) -> bool:
        """Whether queries are to be answered on the port for metrics."""
        return bool(self.metrics_port) and self.metrics_port in (self.grpc_port, self.http_port)

    @property
    def tls(self) -> TlsFiles | None:
        """What everything is encrypted with; None if it is not."""
        if not self.tls_cert:
            return None
        return TlsFiles(self.tls_cert, self.tls_key, self.tls_client_ca)

    @property
    def anybodys_rights(self) -> tuple[Right, ...]:
        """What needs no token: as it was said with tokens, else all that is safe."""
        if self.tokens:
            return self.open_rights
        mine = is_loopback(self.host)
        return tuple(right for right in Right if mine or right is not Right.REPOSITORY)

    @property
    def shares_memory(self) -> bool:
        """Whether clients may register shared memory."""
        return is_loopback(self.host) if self.shared_memory is None else self.shared_memory
