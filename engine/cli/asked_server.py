"""A server that is asked how its models do, over gRPC or HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from surplus.engine.bearer import bearer
from surplus.engine.errors import ConfigError, EngineError

_TIMEOUT_S = 10.0
_WAITS_S = 2.0
_LARGEST_BYTES = 256 << 20

Document = dict[str, Any]


class AskedServer:
    """An open connection.

    Parameters
    ----------
    url : str
        ``http://HOST:PORT``, or ``HOST:PORT`` of gRPC.

    Raises
    ------
    ConfigError
        If it is neither.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._channel: Any = None
        if urlsplit(url).scheme in ("http", "https"):
            return
        address = url.removeprefix("grpc://").rstrip("/")
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdigit()):
            raise ConfigError(f"{url!r} is neither HOST:PORT nor http://HOST:PORT")
        import grpc

        limit = ("grpc.max_receive_message_length", _LARGEST_BYTES)
        self._channel = grpc.insecure_channel(address, options=[limit])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._channel is not None:
            self._channel.close()

    def top(self, window_s: float | None) -> Document:
        """What its machines did over the last seconds.

        Raises
        ------
        EngineError
            If it does not answer, or refuses.
        """
        return self._asked("top", {"window_s": window_s})

    def await_recording(self, window_s: float | None) -> None:
        """Wait until it has recorded for as long as is looked at, for two seconds at most.

        The first look has queries recorded of models that are not due.
        """
        wanted_ns = min(_WAITS_S, window_s or _WAITS_S) * 1e9
        machines = self.top(window_s)["machines"]
        missing_ns = wanted_ns - min((row["window_ns"] for row in machines), default=wanted_ns)
        if missing_ns > 0:
            time.sleep(missing_ns / 1e9)

    def late(self, model: str, window_s: float | None, *, perfetto: bool = False) -> Document:
        """Why a model's queries were late, all models' if it is empty; raises as ``top``."""
        return self._asked("late", {"model": model, "window_s": window_s, "perfetto": perfetto})

    def trace(self, words: Mapping[str, Any]) -> Document:
        """One query, drawn for Perfetto: ``id``, ``trace_id``, ``model``, ``next_s`` say which.

        Raises
        ------
        ConfigError
            If the server is asked over gRPC.
        EngineError
            As ``top``, or if there is no such query.
        """
        if self._channel is not None:
            raise ConfigError("a trace is asked for over HTTP: http://HOST:PORT")
        wait_s = _TIMEOUT_S + float(words.get("next_s") or 0)
        document: Document = json.loads(self._over_http("trace", words, wait_s))
        return document

    def _asked(self, what: str, wanted: Mapping[str, Any]) -> Document:
        given = {name: value for name, value in wanted.items() if value}
        text = self._over_http(what, given) if self._channel is None else self._call(what, given)
        document: Document = json.loads(text)
        return document

    def _over_http(self, what: str, given: Mapping[str, Any], timeout_s: float = _TIMEOUT_S) -> str:
        words = {name: value for name, value in given.items() if name != "perfetto"}
        if given.get("perfetto"):
            words["format"] = "perfetto"
        url = f"{self._url}/v2/surplus/{what}?{urlencode(words)}"
        try:
            asked = Request(url, headers=dict(bearer()))
            with urlopen(asked, timeout=timeout_s) as answer:
                text: str = answer.read(_LARGEST_BYTES).decode()
                return text
        except HTTPError as error:
            raise EngineError(f"{self._url}: {_reason(error)}") from error
        except (URLError, TimeoutError, OSError) as error:
            why = getattr(error, "reason", error)
            raise EngineError(f"{self._url} does not answer: {why}") from error

    def _call(self, what: str, given: Mapping[str, Any]) -> str:
        import grpc

        from surplus.engine.serving.messages import TAILS, message_type

        name = what.capitalize()
        call = self._channel.unary_unary(
            f"/{TAILS}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_type("TailsDocument", "surplus").FromString,
        )
        request = message_type(f"{name}Request", "surplus")(**given)
        try:
            text: str = call(request, timeout=_TIMEOUT_S, metadata=bearer()).json
            return text
        except grpc.RpcError as error:
            raise EngineError(f"{self._url}: {_details(error)}") from error


def _reason(error: HTTPError) -> str:
    """What the server says of it, or else its status."""
    try:
        return str(json.loads(error.read(_LARGEST_BYTES))["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}, {error.reason}: is it a server of ours?"


def _details(error: Any) -> str:
    import grpc

    code = error.code()
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return "the server has no such call: is it one of ours?"
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return f"does not answer: {error.details()}"
    return str(error.details())
