"""What is deployed: two models that say who answered, one on several nodes, one on one."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

WIDE, NARROW = "wide", "narrow"
VERSIONS = (1, 2)
SLO_MS = 200.0
"""From a query to its answer; later ones are late."""
RESOURCES = {"node": 1.0}
WIDE_SHARE = 0.75
"""Of the queries."""
_WIDE_NODES, _NARROW_NODES = 1.6, 0.25
"""That the rates need, as the planner is told."""

_FILE = """
name = "chaos"
repository = "{repository}"
resolver = "127.0.0.1:0"
window_s = 5
grace_s = 1

[kinds.cpu]
memory = "64MiB"
resources = {{node = 1}}
load_s = 0.1
serve = ["--devices", "cpu:1", "{shared}"]
"""
_MODEL = """
[models.{name}]
slo_ms = {slo_ms}
memory = "1MiB"
rate_per_s = {rate}
versions = [{version}]
profiles.cpu = {{fixed_ns = 0, per_item_ns = {item_ns}}}
"""


class Setting:
    """A repository, and the file of a cluster, in a folder.

    Parameters
    ----------
    rate_per_s : float
        Of all queries.
    """

    def __init__(self, folder: Path, rate_per_s: float) -> None:
        self.path = folder / "CLUSTER.toml"
        self._repository = folder / "repository"
        self._rate_per_s = rate_per_s
        self.version = VERSIONS[0]
        self._is_shared = False
        for name in (WIDE, NARROW):
            for version in VERSIONS:
                made = self._repository / name / str(version)
                made.mkdir(parents=True)
                onnx.save(adder(version), made / "model.onnx")
        self._write()

    def roll(self) -> None:
        """Have the other version served."""
        self.version = next(version for version in VERSIONS if version != self.version)
        self._write()

    def renew(self) -> None:
        """Have servers run with other options."""
        self._is_shared = not self._is_shared
        self._write()

    def _write(self) -> None:
        shared = "--shared-memory" if self._is_shared else "--no-shared-memory"
        text = _FILE.format(repository=self._repository, shared=shared)
        text += self._model(WIDE, WIDE_SHARE, _WIDE_NODES)
        text += self._model(NARROW, 1 - WIDE_SHARE, _NARROW_NODES)
        partial = self.path.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(self.path)

    def _model(self, name: str, share: float, nodes: float) -> str:
        rate_per_s = share * self._rate_per_s
        item_ns = round(nodes / rate_per_s * 1e9)
        return _MODEL.format(
            name=name, slo_ms=SLO_MS, rate=rate_per_s, version=self.version, item_ns=item_ns
        )


def adder(version: int) -> onnx.ModelProto:
    """Adds the version's number to four numbers."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"])],
        "adder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor("c", TensorProto.FLOAT, [1], [float(version)])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
