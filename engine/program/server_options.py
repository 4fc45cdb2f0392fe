"""Keywords of ``surplus.Server``, as type checkers know them."""

from __future__ import annotations

from typing import TypedDict

from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.rights import Right
from surplus.engine.serving.server_params import FrontEnd


class ServerOptions(TypedDict, total=False):
    """The fields of ``surplus.ServerParams``, which says what each means, but for the two ports."""

    host: str
    max_in_flight: int
    drain_timeout_s: float
    max_message_bytes: int
    memory_limit_bytes: int
    response_cache_bytes: int
    max_connections: int
    max_connections_per_client: int
    front_end: FrontEnd
    max_streams: int
    max_body_s: float
    max_handshake_s: float
    name: str
    shared_memory: bool | None
    tls_cert: str
    tls_key: str
    tls_client_ca: str
    one_port: bool
    tokens: str
    open_rights: tuple[Right, ...]
    drain_delay_s: float
    metrics: bool
    metrics_port: int | None
    needs_metrics_port: bool
    needs_http_port: bool
    reports: ReportParams
