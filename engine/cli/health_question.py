"""Asks a server for its health, over gRPC or HTTP, as a probe does."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from surplus.engine.bearer import bearer
from surplus.engine.errors import EngineError


@dataclass(frozen=True)
class HealthQuestion:
    """What to ask whom.

    Parameters
    ----------
    url : str
        ``HOST:PORT`` of gRPC, or ``http(s)://HOST:PORT``.
    live : bool
        Whether it is enough that it answers.
    timeout_s : float
        For the answer.
    ca, certificate, key : str
        Files of TLS, PEM; empty: none.
    """

    url: str
    live: bool
    timeout_s: float
    ca: str = ""
    certificate: str = ""
    key: str = ""


def ask(question: HealthQuestion) -> bool:
    """Whether the server is ready, or live.

    Raises
    ------
    EngineError
        If it does not answer.
    """
    scheme = urlsplit(question.url).scheme
    return _over_http(question) if scheme in ("http", "https") else _over_grpc(question)


def _over_http(question: HealthQuestion) -> bool:
    context = _context(question) if question.url.startswith("https:") else None
    path = "live" if question.live else "ready"
    request = Request(f"{question.url.rstrip('/')}/v2/health/{path}", headers=dict(bearer()))
    try:
        with urlopen(request, timeout=question.timeout_s, context=context) as answer:
            return bool(answer.status == 200)
    except HTTPError as error:
        if error.code == 400:  # as Triton says that it is not ready
            return False
        raise EngineError(f"{question.url}: status {error.code}, {error.reason}") from None
    except (URLError, TimeoutError, OSError) as error:
        why = getattr(error, "reason", error)
        raise EngineError(f"{question.url} does not answer: {why}") from None


def _context(question: HealthQuestion) -> ssl.SSLContext:
    files = ", ".join(filter(None, (question.ca, question.certificate, question.key)))
    try:
        context = ssl.create_default_context(cafile=question.ca or None)
        if question.certificate:
            context.load_cert_chain(question.certificate, question.key)
    except OSError as error:  # ssl.SSLError, too
        raise EngineError(f"{files}: {error.strerror}") from None
    return context


def _over_grpc(question: HealthQuestion) -> bool:
    import grpc

    from surplus.engine.serving.messages import HEALTH, SERVICE

    address = question.url.removeprefix("grpc://").rstrip("/")
    path, yes = f"/{HEALTH}/Check", b"\x08\x01"  # SERVING
    if question.live:
        path = f"/{SERVICE}/ServerLive"
    with _channel(question, address) as channel:
        try:
            answer = channel.unary_unary(path)(b"", timeout=question.timeout_s, metadata=bearer())
        except grpc.RpcError as error:
            raise EngineError(f"{address}: {error.code().name}: {error.details()}") from None
    return bool(answer == yes)


def _channel(question: HealthQuestion, address: str) -> Any:
    import grpc

    if not question.ca:
        return grpc.insecure_channel(address)
    ca, key, certificate = (
        Path(path).read_bytes() if path else None
        for path in (question.ca, question.key, question.certificate)
    )
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate))
