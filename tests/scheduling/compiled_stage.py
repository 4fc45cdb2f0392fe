"""A model of three layers whose middle one is compiled, on a backend."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.setting_up import loaded, places
from tests.compiled_library import compiled_blocks, compiled_runs

RANDOM = np.random.default_rng(5)
SIZES = (24, 40, 32, 10)
GROUPS = 3
ARTIFACT = """
[[artifact]]
version = {version}
width = {width}
library = "{library}"
symbol = "{symbol}"
inputs = ["h1"]
constants = ["w2", "b2"]
outputs = ["h2"]
"""


def mlp(folder: Path) -> Path:
    """Three layers; the middle one is compiled."""
    nodes, constants = [], []
    for i, (k, m) in enumerate(pairwise(SIZES), 1):
        source, target = ("x" if i == 1 else f"h{i - 1}"), ("y" if i == 3 else f"h{i}")
        weight = RANDOM.standard_normal((k, m), np.float32)
        constants += [numpy_helper.from_array(weight, f"w{i}")]
        constants += [numpy_helper.from_array(RANDOM.standard_normal(m, np.float32), f"b{i}")]
        nodes.append(onnx.helper.make_node("Gemm", [source, f"w{i}", f"b{i}"], [f"s{i}"]))
        nodes.append(onnx.helper.make_node("Relu", [f"s{i}"], [target]))
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size])
        for name, size in (("x", SIZES[0]), ("y", SIZES[-1]))
    ]
    graph = onnx.helper.make_graph(nodes, "mlp", ends[:1], ends[1:], constants)
    opset = [onnx.helper.make_opsetid("", 18)]
    path = folder / "mlp.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def artifact(symbol: str, version: int = 1, width: int = 1, **changes: str) -> str:
    library = compiled_blocks()
    text = ARTIFACT.format(version=version, width=width, library=library, symbol=symbol)
    for key, value in changes.items():
        lines = [row for row in text.splitlines() if not row.startswith(f"{key} =")]
        text = "\n".join([*lines, f"{key} = {value}", ""])
    return text


def manifest(folder: Path, *artifacts: str, head: str = "") -> Path:
    path = folder / "compiled.toml"
    path.write_text(f'format = "surplus-compiled/1"\n{head}\n{"".join(artifacts)}')
    return path


def two_versions(folder: Path) -> Path:
    rows = [artifact("gemm_narrow", 1, 1), artifact("gemm_wide", 2, 1), artifact("gemm_wide", 2, 2)]
    return manifest(folder, *rows, head="sensitivities = [0.9, 0.5, 0.1]")


class Served:
    """The model on a backend, with each query's answer at hand."""

    def __init__(self, folder: Path, compiled: Path | None, groups: int = GROUPS) -> None:
        self.place: Place = places("cpu:2", [2])[0]
        path, cache = mlp(folder), folder / "cache"
        self.model: LiveModel = loaded(
            "mlp",
            path,
            self.place,
            LiveModelParams(groups, plan=BasePlanParams(cache=cache), manifest=compiled),
        )
        self.inputs: dict[int, dict[str, Any]] = {}
        self.answers: dict[int, Any] = {}
        self.backend = EngineBackend(
            [self.model],
            [self.place],
            lambda query: self.inputs[query.id],
            lambda query, answer: self.answers.update({query.id: answer["y"]}),
        )
        self.backend.prepare([Partition(0, 100, cores=2)])

    def run(self, number: int, version: int, cores: int = 1, groups: int = GROUPS) -> Any:
        """The answer to a query, group by group in a version."""
        rows = np.random.default_rng(number).standard_normal((3, SIZES[0]), np.float32)
        self.inputs[number] = {"x": rows}
        query = Query(number, 0, number, 0, 0, 3)
        for index in range(groups):
            pieces = (piece_of((query,), index, index + 1),)
            self.backend.start(Group(index, 0, pieces, 0, 0, cores, version))
            assert [ended.error for ended in self.backend.wait(None)] == [""]
        return self.answers.pop(number)


def runs_of(served: Served, *args: int) -> tuple[tuple[int, int], Any]:
    """How often each version ran for a query, and its answer."""
    before = compiled_runs()
    answer = served.run(*args)
    narrow, wide = (now - then for now, then in zip(compiled_runs(), before, strict=True))
    return (narrow, wide), answer
