"""A page for people: the nodes of a deployment, with links to what each says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_HEAD = (
    "<!doctype html><meta charset=utf-8><title>Surplus: nodes</title>"
    "<meta http-equiv=refresh content=5>"
    "<style>body{font:14px system-ui;margin:2em}td,th{text-align:left;padding:.2em 1em .2em 0;"
    "vertical-align:top}.wrong{color:#b00}</style>"
    "<h1>Nodes</h1><table><tr><th>node<th>kind<th>serves<th>load<th>starts<th>"
)


def nodes_page(nodes: Sequence[Mapping[str, Any]]) -> str:
    """HTML that loads itself anew."""
    return _HEAD + "".join(map(_row, nodes)) + "</table>"


def _row(node: Mapping[str, Any]) -> str:
    name = escape(node["node"][:12])
    if node["metrics"]:
        name = f'<a href="http://{escape(node["metrics"])}/status">{name}</a>'
    models = "<br>".join(
        f"{escape(model)} {', '.join(map(str, versions))}"
        for model, versions in sorted(node["models"].items())
    )
    wrong = [node["error"], *(f"{model}: {why}" for model, why in sorted(node["failed"].items()))]
    said = "<br>".join(escape(text) for text in wrong if text)
    numbers = f"<td>{node['load']:.2f}<td>{node['starts']}"
    return f"<tr><td>{name}<td>{escape(node['kind'])}<td>{models}{numbers}<td class=wrong>{said}"
