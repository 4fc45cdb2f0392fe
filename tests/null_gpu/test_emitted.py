"""Whether ONNX Runtime runs nodes where an emitted placement says, with its real CUDA provider.

The GPU computes nothing, so only where nodes run is looked at.
"""

import os
from pathlib import Path

import pytest

from surplus.engine.emit import emit
from tests.emit.branches import CPU_GPU, model_of, opened, placed_on
from tests.fakes.null_gpu import PROVIDER, compiled

PROVIDERS = ("CPUExecutionProvider", "CUDAExecutionProvider")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["left_1", "left_10", "right", "left_2"], id="by names"),
        pytest.param(["a(1)", "b,2", "", "c"], id="by annotations"),
    ],
)
def test_nodes_run_where_the_placement_says(names: list[str], tmp_path: Path) -> None:
    gpu = compiled(tmp_path)
    placed = placed_on(model_of(tmp_path / "m.onnx", names), [0, 1, 0, 1, 0], CPU_GPU)
    emit("onnxruntime", placed, tmp_path / "out")
    module = os.pathsep.join([str(PROVIDER.parents[1]), *os.environ.get("PYTHONPATH", "").split()])
    found, log = opened(tmp_path / "out", {**gpu.environment, "PYTHONPATH": module})
    wanted = {
        task.name: PROVIDERS[device]
        for task, device in zip(placed.graph.tasks, placed.placement.device_of, strict=True)
    }
    seen = {name: where for name, where in found["nodes"].items() if name in wanted}
    assert seen == {name: wanted[name] for name in seen}, log[-2000:]
    assert set(seen.values()) == set(PROVIDERS)
    assert len(seen) == len(wanted)
