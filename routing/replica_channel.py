"""A connection to one server, over gRPC."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from surplus.loadgen.clients.protocol import SERVICE
from surplus.loadgen.transport import TlsParams
from surplus.routing.balancer import Failure, failure_of
from surplus.routing.client_params import ClientParams
from surplus.routing.load_report import ASK, wait_ns_in

_OPTIONS = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A server that is back is to be found back: by default the pauses grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 500),
    # Channels to one address would share a connection, and what one has seen of it.
    ("grpc.use_local_subchannel_pool", 1),
]


class AnsweredTry(NamedTuple):
    """A ModelInferResponse, and how long the server says a new query would wait there, ns."""

    message: bytes
    wait_ns: int | None


class FailedTry(NamedTuple):
    """Why one server has not answered: what that says of it, gRPC's name of the status, words."""

    failure: Failure
    kind: str
    message: str


class ReplicaChannel:
    """Comes back by itself when it was lost. Thread-safe.

    Parameters
    ----------
    address : str
        ``host:port``.
    params : ClientParams
        How to ask.

    Raises
    ------
    OSError
        If a file of TLS cannot be read.
    """

    def __init__(self, address: str, params: ClientParams) -> None:
        ping_ms = max(1, round(params.ping_s * 1e3))
        options = [
            *_OPTIONS,
            ("grpc.keepalive_time_ms", ping_ms),
            ("grpc.keepalive_timeout_ms", ping_ms),
        ]
        if params.tls is None:
            self._channel = grpc.insecure_channel(address, options=options)
        else:
            credentials = channel_credentials(params.tls)
            self._channel = grpc.secure_channel(address, credentials, options=options)
        self._infer = self._channel.unary_unary(f"{SERVICE}ModelInfer")
        bearer = [("authorization", f"Bearer {params.token}")] if params.token else []
        self._metadata: Sequence[tuple[str, str]] = (ASK, *bearer)

    def ask(self, request: bytes, timeout_s: float) -> Any:
        """Send a ModelInferRequest; gRPC's future of its answer, for ``outcome``."""
        return self._infer.future(request, timeout=timeout_s, metadata=self._metadata)

    def close(self) -> None:
        """Ends what is in flight, too."""
        self._channel.close()


def outcome(call: Any) -> AnsweredTry | FailedTry:
    """What came of a call that is done, and was not cancelled."""
    code = call.code()
    if code is grpc.StatusCode.OK:
        return AnsweredTry(call.result(), wait_ns_in(call.trailing_metadata()))
    return FailedTry(failure_of(code.value[0]), code.name, call.details() or "")


def channel_credentials(tls: TlsParams) -> grpc.ChannelCredentials:
    """What these files are to gRPC; reads them."""
    own = [Path(path).read_bytes() for path in (tls.key, tls.certificate) if path]
    return grpc.ssl_channel_credentials(Path(tls.ca).read_bytes(), *own)
