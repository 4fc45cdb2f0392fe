"""What a node's server says of itself, over HTTP: what is ready, and what came."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

from surplus.engine.bearer import bearer
from surplus.engine.deployment.staged_models import Versions
from surplus.engine.errors import UnavailableError, one_line

_TIMEOUT_S = 2.0
_LARGEST_BYTES = 16 << 20
_COUNTED = ("nv_inference_request_success", "nv_inference_request_failure")
_UNLOADED = "unloaded"
"""Why a version is not served that was taken out: nothing is wrong with it."""
_METRICS = "nv_inference_request,nv_inference_pending,surplus_lanes"


class IndexRow(NamedTuple):
    """Why a version is not served, or newer files of one that is."""

    name: str
    version: str
    state: str
    reason: str


@dataclass(frozen=True)
class ServerState:
    """As ``NodeReport`` has it, but for ``failed``: every row that says why."""

    ready: Mapping[str, Versions]
    failed: Sequence[IndexRow]
    queries: Mapping[str, int]
    pending: int
    lanes: int


def ask(address: str) -> ServerState:
    """Ask once.

    Raises
    ------
    UnavailableError
        If it does not answer in time.
    """
    ready: defaultdict[str, list[int]] = defaultdict(list)
    failed: list[IndexRow] = []
    for row in json.loads(_answer(f"http://{address}/v2/repository/index", b"{}")):
        if row["state"] == "READY":
            ready[row["name"]].append(int(row["version"]))
        if row["reason"] not in ("", _UNLOADED):
            failed.append(IndexRow(row["name"], row["version"], row["state"], row["reason"]))
    queries: defaultdict[str, int] = defaultdict(int)
    pending = lanes = 0
    text = _answer(f"http://{address}/metrics?prefix={_METRICS}").decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(_COUNTED):
                queries[sample.labels["model"]] += int(sample.value)
            elif sample.name == "nv_inference_pending_request_count":
                pending += int(sample.value)
            elif sample.name == "surplus_lanes":
                lanes += int(sample.value)
    served = {name: tuple(sorted(versions)) for name, versions in ready.items()}
    return ServerState(served, failed, queries, pending, max(1, lanes))


def _answer(url: str, body: bytes | None = None) -> bytes:
    try:
        with urlopen(Request(url, body, dict(bearer())), timeout=_TIMEOUT_S) as answer:
            read: bytes = answer.read(_LARGEST_BYTES)
            return read
    except (URLError, HTTPException, OSError) as error:
        raise UnavailableError(f"{url}: {one_line(error)}") from error
