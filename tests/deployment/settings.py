"""A small repository and cluster files that several tests deploy."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

BASE = """
name = "{name}"
repository = "{repository}"
resolver = "127.0.0.1:0"
window_s = 1
grace_s = 1

[kinds.cpu]
memory = "64MiB"
resources = {{node = 1}}
load_s = 0.1
serve = ["--devices", "cpu:1", "--shared-memory"]
"""

MODEL = """
[models.{name}]
slo_ms = 200
memory = "1MiB"
rate_per_s = {rate}
{more}
profiles.cpu = {{fixed_ns = 0, per_item_ns = {item_ns}}}
"""


def adder(value: float) -> onnx.ModelProto:
    """Adds a value to four numbers."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"])],
        "adder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor("c", TensorProto.FLOAT, [1], [float(value)])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save_version(repository: Path, name: str, version: int, value: float | None = None) -> Path:
    """A version that adds its own number, or a value; whole when it is seen."""
    folder = repository / name / str(version)
    partial = repository / f".{name}-{version}"
    partial.mkdir(parents=True)
    onnx.save(adder(version if value is None else value), partial / "model.onnx")
    folder.parent.mkdir(exist_ok=True)
    return partial.rename(folder)


def model_table(
    name: str, rate: float = 1.0, item_ms: float = 10.0, more: str = "versions = [1]"
) -> str:
    """A table of ``[models]``."""
    return MODEL.format(name=name, rate=rate, item_ns=round(item_ms * 1e6), more=more)


def cluster_file(folder: Path, *models: str, name: str = "test", extra: str = "") -> Path:
    """Write the file of a cluster whose repository is ``folder/repository``."""
    path = folder / "CLUSTER.toml"
    text = BASE.format(name=name, repository=folder / "repository")
    partial = folder / ".CLUSTER.toml"
    partial.write_text(extra + text + "".join(models))
    return partial.replace(path)
