"""A request of HTTP and its answer, whoever reads and writes them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from surplus.engine.serving.caller import Caller
from surplus.engine.serving.memory_share import MemoryShare


class HttpError(Exception):
    """What is wrong with a request is HTTP's, and no error of the engine.

    Parameters
    ----------
    status : int
        Of the answer.
    reason : str
        What it says.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = headers or {}


class HttpRequest(ABC):
    """A request whose head has come.

    Parameters
    ----------
    target : str
        Path and query as they came, percent-encoded.
    headers : mapping of str to str
        By names in small letters; of several the first.
    share : MemoryShare
        What the request takes of the server's memory, until its answer is written.
    caller : Caller
        Who asks.

    Attributes
    ----------
    names : mapping of str to str
        What the path names; set by who routes it.
    """

    def __init__(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        share: MemoryShare,
        caller: Caller,
    ) -> None:
        self.method = method
        self.raw_path, _, self._query = target.partition("?")
        self.headers = headers
        self.share = share
        self.caller = caller
        self.names: Mapping[str, str] = {}

    @property
    def path(self) -> str:
        """As people read it."""
        return unquote(self.raw_path)

    @property
    def query(self) -> Mapping[str, str]:
        """Parameters behind the path; of several of a name the first."""
        return dict(reversed(parse_qsl(self._query, keep_blank_values=True)))

    @abstractmethod
    async def read(self, most_bytes: int) -> memoryview:
        """The body as it came, counted in the share.

        Raises
        ------
        HttpError
            If it is larger, takes too long, or is malformed.
        MemoryLimitError
            If the server has no room for it.
        """

    def begin_query(self) -> None:  # noqa: B027 - most have nothing to do
        """Hear that a query is answered now.

        Raises
        ------
        QueueFullError
            If there are too many.
        """


@dataclass(frozen=True)
class HttpAnswer:
    """What is answered.

    Parameters
    ----------
    headers : mapping of str to str
        Beside what the connection needs, as the body's length.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """An answer that is a document."""
    content_type = {"Content-Type": "application/json; charset=utf-8"}
    return HttpAnswer(status, json.dumps(document).encode(), {**content_type, **(headers or {})})
