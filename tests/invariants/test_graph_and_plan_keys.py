"""What makes a cached graph, segment or plan another one, and what does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg import file_hashes, known_graph
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning import stored_plan
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import plan_path
from surplus.engine.runtime.segment_files import segment_file
from tests.constant_costs import constant_problem, sliced_plan

FLOAT = onnx.TensorProto.FLOAT
WEIGHTS = 4096
LARGE_BYTES = 5 << 20
"""Above this files are not hashed each time but remembered with their state."""


@dataclass(frozen=True)
class Files:
    """A model with external weights, in a folder of its own."""

    folder: Path
    cache: Path
    name: str = "model.onnx"

    @property
    def path(self) -> Path:
        return self.folder / self.name

    @property
    def weights(self) -> Path:
        return self.folder / "weights.bin"

    def graph(self) -> Graph:
        return read_model(self.path, self.cache)

    def write(self, weights: int = WEIGHTS, **changes: Any) -> None:
        self.folder.mkdir(exist_ok=True)
        model = _model(**changes)
        kept = model.graph.initializer.add(name="w", data_type=FLOAT, dims=[weights])
        kept.data_location = onnx.TensorProto.EXTERNAL
        kept.external_data.add(key="location", value=self.weights.name)
        self.path.write_bytes(model.SerializeToString())
        self.weights.write_bytes((np.arange(weights, dtype=np.float32) / weights).tobytes())


def _model(op: str = "Mul", axis: int = 0, name: str = "node", doc: str = "") -> onnx.ModelProto:
    graph = helper.make_graph(
        [
            helper.make_node(op, ["x", "w"], ["a"], name=name),
            helper.make_node("Softmax", ["a"], ["y"], name="last", axis=axis),
        ],
        "keys",
        [helper.make_tensor_value_info("x", FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, doc_string=doc)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(tmp_path / "here", tmp_path / "cache")
    found.write()
    return found


# --- graphs ---


def _touched(files: Files) -> Files:
    for path in (files.path, files.weights):
        os.utime(path, ns=(10**18, 10**18))
    return files


def _moved(files: Files) -> Files:
    elsewhere = Files(files.folder.with_name("elsewhere"), files.cache)
    shutil.move(files.folder, elsewhere.folder)
    return elsewhere


def _renamed(files: Files) -> Files:
    return replace(files, name=files.path.rename(files.folder / "other.onnx").name)


def _linked(files: Files) -> Files:
    link = Files(files.folder.with_name("link"), files.cache)
    link.folder.symlink_to(files.folder)
    return link


@pytest.mark.parametrize("change", [_touched, _moved, _renamed, _linked])
def test_where_and_when_a_model_was_written_does_not_matter(
    files: Files, change: Callable[[Files], Files]
) -> None:
    before = files.graph()
    after = change(files).graph()
    assert (after.source_hash, after.folder) == (before.source_hash, before.folder)


@pytest.mark.parametrize("change", [{"op": "Add"}, {"axis": -1}, {"name": "n"}, {"doc": "text"}])
def test_any_byte_of_the_model_matters(files: Files, change: dict[str, Any]) -> None:
    before = files.graph()
    files.write(**change)
    after = files.graph()
    assert after.source_hash != before.source_hash
    assert after.folder != before.folder


@pytest.mark.parametrize("size", [WEIGHTS, LARGE_BYTES // 4])
@pytest.mark.parametrize("place", [0, -1])
def test_any_byte_of_the_external_data_matters(files: Files, size: int, place: int) -> None:
    files.write(weights=size)
    times = files.weights.stat()
    before = files.graph()
    content = bytearray(files.weights.read_bytes())
    content[place] ^= 1
    files.weights.write_bytes(content)
    os.utime(files.weights, ns=(times.st_atime_ns, times.st_mtime_ns))  # as if nothing had been
    assert files.graph().source_hash != before.source_hash


def test_remembered_hashes_of_large_files_follow_their_changes(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hashes, "_SETTLED_NS", -(10**18))  # every file counts as settled
    files.write(weights=LARGE_BYTES // 4)
    first = files.graph().source_hash
    monkeypatch.setattr(file_hashes, "_hash", _hash_small_only(file_hashes._hash))
    assert files.graph().source_hash == first  # remembered
    monkeypatch.undo()
    content = bytearray(files.weights.read_bytes())
    content[7] ^= 1
    files.weights.write_bytes(content)
    assert files.graph().source_hash != first


def _hash_small_only(real: Callable[[Path], str]) -> Callable[[Path], str]:
    def hash_small(path: Path) -> str:
        assert path.stat().st_size < LARGE_BYTES - 1, "hashed again"
        return real(path)

    return hash_small


def test_a_graph_is_of_one_version_of_onnx_runtime(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files.graph()
    monkeypatch.setattr(known_graph, "load_runtime", lambda: "99.0.0")
    after = files.graph()
    assert after.source_hash == before.source_hash
    assert after.folder != before.folder


# --- segments ---


def test_a_segments_file_is_of_its_tasks_and_outputs(files: Files) -> None:
    graph = files.graph()
    plan = sliced_plan(graph, constant_problem(graph, parse_devices("cpu:2")), 2)
    first, second = plan.segments
    path = segment_file(graph, first, whole=False)
    assert path != segment_file(graph, second, whole=False)
    same = replace(first, name="other", width=2, rank=7, service_ns=3, device=0)
    assert segment_file(graph, same, whole=False) == path
    content = path.read_bytes()
    path.unlink()
    assert segment_file(graph, first, whole=False).read_bytes() == content


# --- plans ---


@pytest.fixture
def asked(files: Files) -> Callable[..., Path]:
    """The path of a plan, by what is asked for."""

    def path(
        devices: str = "cpu:2,emulated:gpu", policy: str = "comm_sd", rows: int = 1, **options: Any
    ) -> Path:
        inputs = {"x": np.ones(rows, np.float32)}
        return plan_path(files.graph(), parse_devices(devices), policy, options, inputs)

    return path


@pytest.mark.parametrize(
    "change",
    [
        {"devices": "cpu:1,emulated:gpu"},
        {"devices": "cpu:2,emulated:gpu:2"},
        {"devices": "cpu:2,emulated:gpu[h200]"},
        {"devices": "cpu:2,emulated:gpu[replay]"},
        {"devices": "cpu:2,emulated:other"},
        {"devices": "cpu:2"},
        {"policy": "heft"},
        {"alpha_ns": 5},
        {"rows": WEIGHTS},
    ],
)
def test_another_question_has_another_plan(
    asked: Callable[..., Path], change: dict[str, Any]
) -> None:
    assert asked(**change) != asked()


def test_one_question_has_one_plan(asked: Callable[..., Path], files: Files) -> None:
    first = asked(alpha_ns=1, order="rank")
    assert asked(order="rank", alpha_ns=1) == first
    assert asked("emulated:gpu,cpu:2", alpha_ns=1, order="rank") == first
    _touched(files)
    assert asked(alpha_ns=1, order="rank") == first


@pytest.mark.parametrize("name", ["load_runtime", "machine_fingerprint"])
def test_a_plan_is_of_one_machine_and_version(
    name: str, asked: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = asked()
    monkeypatch.setattr(stored_plan, name, lambda: "another")
    assert asked() != before


def test_a_plan_is_of_one_model(asked: Callable[..., Path], files: Files) -> None:
    before = asked()
    files.write(op="Sub")
    assert asked() != before
