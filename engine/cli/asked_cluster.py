"""The servers of a deployment, asked how their models do as if they were one."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from surplus.engine.cli.asked_server import AskedServer, Document
from surplus.engine.errors import EngineError

_TIMEOUT_S = 10.0
_SHOWN = 8
"""Letters of a node's id."""


class AskedCluster:
    """What a resolver knows, and its nodes' servers.

    Parameters
    ----------
    url : str
        Of the resolver: ``http://HOST:PORT``.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def top(self, window_s: float | None) -> Document:
        """All their machines, each device with its node's name before it.

        Raises
        ------
        EngineError
            If the resolver does not answer. A server that does not is left out.
        """
        looks = [_look(node, window_s) for node in self._nodes() if node["http"]]
        return {
            kind: [row for look in looks for row in look[kind]] for kind in ("machines", "policies")
        }

    def await_recording(self, window_s: float | None) -> None:
        """As ``AskedServer``'s, on each."""
        for node in self._nodes():
            if node["http"]:
                with AskedServer(f"http://{node['http']}") as server:
                    server.await_recording(window_s)

    def _nodes(self) -> list[dict[str, Any]]:
        try:
            with urlopen(f"{self._url}/v1/nodes", timeout=_TIMEOUT_S) as answer:
                nodes: list[dict[str, Any]] = json.load(answer)["nodes"]
                return nodes
        except (URLError, OSError, ValueError, KeyError) as error:
            raise EngineError(f"{self._url} is no resolver that answers: {error}") from error


def _look(node: dict[str, Any], window_s: float | None) -> Document:
    try:
        with AskedServer(f"http://{node['http']}") as server:
            found = server.top(window_s)
    except EngineError:
        return {"machines": [], "policies": []}
    name = node["node"][:_SHOWN]
    machines = [
        {**one, "devices": [f"{name} {own}" for own in one["devices"]]} for one in found["machines"]
    ]
    policies = [{**one, "name": f"{name} {one['name']}"} for one in found.get("policies") or ()]
    return {"machines": machines, "policies": policies}
