"""Memory that queries take, measured in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine.errors import ExecutionError
from surplus.engine.pipeline.memory_probe import MemoryProbeParams, probe_apart
from surplus.engine.pipeline.memory_report import memory_report
from surplus.engine.planning.load_params import LoadParams

SIZE = 1 << 20
TENSOR_BYTES = 4 * SIZE
FORK = f"""<ir_version: 9, opset_import: ["" : 18]>
fork (float[{SIZE}] x) => (float[{SIZE}] y) {{
  a = Neg(x)
  b = Exp(a)
  c = Abs(a)
  y = Add(b, c)
}}"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "fork.onnx"
    onnx.save(onnx.parser.parse_model(FORK), file)
    return file


def grown_bytes(path: Path, load: LoadParams | None) -> int:
    """What four queries add to the private memory."""
    inputs = {"x": np.ones(SIZE, np.float32)}
    found = probe_apart(MemoryProbeParams(path, inputs, queries=4, load=load))
    return int(found["steady"]["private_bytes"] - found["loaded"]["private_bytes"])


def test_large_tensors_are_held_once(path: Path, tmp_path: Path) -> None:
    load = LoadParams(devices="cpu:1", cache=tmp_path / "cache", selection_s=0)
    grown_bytes(path, load)  # makes the plan, which takes runs
    # Alive at once are a, b and c, of which the runtime computes one in place of a.
    assert grown_bytes(path, load) < 3.5 * TENSOR_BYTES


def test_pages_that_two_sessions_map_count_once(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probed(params: MemoryProbeParams) -> dict[str, Any]:
        found = probe_apart(params)
        steady = {"peak_bytes": 700, "resident_bytes": 600, "counted_twice_bytes": 200}
        plain = {"peak_bytes": 1000, "resident_bytes": 800, "counted_twice_bytes": 0}
        assert found["steady"]["counted_twice_bytes"] == 0  # no weights, no mappings
        return found | {"steady": plain if params.load is None else steady}

    monkeypatch.setattr("surplus.engine.pipeline.memory_report.probe_apart", probed)
    load = LoadParams(devices="cpu:1", cache=tmp_path / "cache", selection_s=0)
    report = memory_report(path, load, {"x": np.ones(SIZE, np.float32)}, queries=1)
    assert report["ratio"] == {"peak": 0.5, "resident": 0.5}


def test_a_model_that_cannot_run_is_an_error(path: Path) -> None:
    wrong = {"z": np.ones(SIZE, np.float32)}
    with pytest.raises(ExecutionError, match="measuring memory failed"):
        probe_apart(MemoryProbeParams(path, wrong, queries=1))
