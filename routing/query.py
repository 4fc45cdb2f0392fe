"""A query as callers give it, made into one that servers are sent."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from surplus.loadgen.clients.answers import response_arrays
from surplus.loadgen.clients.grpc_request import infer_request
from surplus.loadgen.clients.tensors import from_array
from surplus.routing.query_router import RoutedQuery
from surplus.routing.resolver import FixedServers, HttpResolver, Resolver

Servers = str | Sequence[str] | Resolver
"""``host:port`` of one server or of several, ``http://host:port`` of a resolver, or one's own."""

Outputs = dict[str, npt.NDArray[Any]]


def query_of(
    model: str,
    inputs: Mapping[str, npt.ArrayLike],
    outputs: Sequence[str],
    version: str,
    timeout_s: float,
    parameters: Mapping[str, int],
) -> RoutedQuery:
    """A query that is due in ``timeout_s``.

    Raises
    ------
    ValueError
        If that is no time.
    PayloadError
        If an input has a type that the protocol has not, or all are too large for a message.
    """
    if not 0 < timeout_s < math.inf:
        raise ValueError(f"timeout_s must be > 0, got {timeout_s}")
    due_ns = time.monotonic_ns() + round(timeout_s * 1e9)
    given = [from_array(name, np.asarray(array)) for name, array in inputs.items()]
    request = infer_request(model, version, given, parameters, outputs)
    return RoutedQuery(model, request, due_ns, int(parameters.get("sequence_id", 0)))


def outputs_of(message: bytes) -> Outputs:
    """The arrays of a ModelInferResponse.

    Raises
    ------
    ClientError
        If it is none.
    """
    return dict(response_arrays(message))


def resolver_of(servers: Servers) -> Resolver:
    """What finds out who has a model.

    Raises
    ------
    ValueError
        If an address is none.
    """
    if isinstance(servers, str):
        is_resolver = servers.startswith(("http://", "https://"))
        return HttpResolver(servers) if is_resolver else FixedServers([servers])
    return FixedServers(list(servers)) if isinstance(servers, Sequence) else servers
