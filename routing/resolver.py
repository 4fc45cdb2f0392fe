"""Who has a model: a list of servers, or what a cluster's resolver says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from surplus.loadgen.address import parse_address
from surplus.routing.errors import ResolverError

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class ReplicaAddress:
    """A server that has a model.

    Parameters
    ----------
    grpc : str
        ``host:port``.
    http : str
        The same for REST; empty: not known.
    load : float
        Queries of others that are outstanding there, as far as is known; >= 0.
    """

    grpc: str
    http: str = ""
    load: float = 0.0

    def __post_init__(self) -> None:
        for address in filter(None, (self.grpc, self.http)):
            parse_address(address)
        if not (math.isfinite(self.load) and self.load >= 0):
            raise ValueError(f"the load of {self.grpc} is {self.load}, must be at least 0")


class Resolver(Protocol):
    """Finds out who has a model; may block.

    Several threads may ask at a time, of one model one does.
    """

    def replicas(self, model: str) -> Sequence[ReplicaAddress]:
        """Those that have it now; empty where nobody has.

        Raises
        ------
        ResolverError
            If that could not be found out.
        """
        ...


class FixedServers:
    """Servers that have all models, or say that they have not.

    Parameters
    ----------
    addresses : sequence of str
        ``host:port`` of gRPC each; at least one.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        if not addresses:
            raise ValueError("at least one server is needed")
        self._replicas = [ReplicaAddress(address) for address in dict.fromkeys(addresses)]

    def replicas(self, model: str) -> Sequence[ReplicaAddress]:
        """All of them."""
        return self._replicas


class HttpResolver:
    """A cluster's resolver, asked by ``GET URL/v1/models/NAME``.

    It answers ``{"model": NAME, "replicas": [{"grpc": "host:port", "http": "host:port",
    "load": number}]}``, or 404 where nobody has the model.

    Parameters
    ----------
    url : str
        ``http://host:port``.
    timeout_s : float
        For an answer.
    """

    def __init__(self, url: str, timeout_s: float = 5.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"the resolver's address {url!r} does not begin with http://")
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s

    def replicas(self, model: str) -> Sequence[ReplicaAddress]:
        """As the resolver says."""
        url = f"{self._url}/v1/models/{quote(model, safe='')}"
        return replicas_in(self._get(url), url)

    def _get(self, url: str) -> bytes:
        try:
            with urlopen(url, timeout=self._timeout_s) as answer:
                body: bytes = answer.read(_MOST_BYTES)
                return body
        except HTTPError as error:
            with error:
                if error.code == 404:
                    return b'{"replicas": []}'
                raise ResolverError(f"{url}: HTTP {error.code}") from None
        except (OSError, ValueError) as error:
            raise ResolverError(f"{url}: {getattr(error, 'reason', error)}") from error


def replicas_in(document: bytes, url: str) -> list[ReplicaAddress]:
    """Read a resolver's answer.

    Raises
    ------
    ResolverError
        Naming the address that gave it, and what is wrong.
    """
    try:
        rows: list[dict[str, Any]] = json.loads(document)["replicas"]
        return [
            ReplicaAddress(str(row["grpc"]), str(row.get("http") or ""), float(row.get("load", 0)))
            for row in rows
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResolverError(f"{url} does not answer as a resolver: {error!r}") from error
