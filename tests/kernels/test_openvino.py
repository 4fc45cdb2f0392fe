"""OpenVINO's kernels for real: answers, other sizes, what is stored, what is refused."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import surplus
from surplus.engine.devices.inventory import inventory
from surplus.engine.kernels.registry import LIBRARIES, installed
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import Departure, narrow_plan

pytestmark = pytest.mark.skipif(
    "openvino" not in installed(), reason="the wheel openvino is not installed"
)

FORCED: dict[str, Any] = {"devices": "cpu:2", "kernels": "openvino", "selection_s": 0}


def _network(folder: Path, batch: int | str = "n", op: str = "Relu") -> Path:
    """Two convolutions and a head, of any batch."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        data = random.standard_normal(shape).astype(np.float32)
        return onnx.numpy_helper.from_array(data, name)

    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node(op, ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["d"]),
        helper.make_node("Flatten", ["d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 8])],
        [weight("w1", 16, 3, 3, 3), weight("w2", 8, 16, 3, 3)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "network.onnx"
    onnx.save(model, path)
    return path


def _image(batch: int = 1, seed: int = 0) -> dict[str, Any]:
    data = np.random.default_rng(seed).standard_normal((batch, 3, 16, 16))
    return {"x": data.astype(np.float32)}


def _load(path: Path, **options: Any) -> PlannedModel:
    given = {"cache": path.parent / "cache", "inputs": _image(), **FORCED, **options}
    return load_planned(path, **given)


def _blobs(path: Path) -> list[Path]:
    return sorted((path.parent / "cache").glob("*/compiled-*.blob"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return _network(tmp_path)


def test_answers_are_those_of_onnx_runtime_but_for_rounding(path: Path) -> None:
    plain, model = _load(path, kernels="onnxruntime"), _load(path)
    assert plain.plan.libraries == ()
    assert plain.facts["kernels"] == "ONNX Runtime"
    assert model.plan.libraries == ("openvino",)
    for seed in range(5):
        right, found = plain.run(_image(seed=seed))["y"], model.run(_image(seed=seed))["y"]
        assert np.max(np.abs(right - found)) <= 1e-4 * np.max(np.abs(right))
    assert model.facts["kernels"] == f"OpenVINO {installed()['openvino']}"
    assert float(model.facts["largest_difference"].split()[0]) <= 1e-4
    assert model.warning == ""


def test_queries_of_other_sizes_have_onnx_runtimes_bits(path: Path) -> None:
    plain, model = _load(path, kernels="onnxruntime"), _load(path)
    for batch in (2, 3, 1):
        right, found = plain.run(_image(batch))["y"], model.run(_image(batch))["y"]
        assert found.shape == (batch, 8)
        if batch != 1:
            assert np.array_equal(right, found)


def test_what_was_compiled_is_stored_and_proves_itself(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = _load(path)
    right = first.run(_image())["y"]
    again = _load(path)
    assert again.plan == first.plan
    assert np.array_equal(again.run(_image())["y"], right)
    for blob in _blobs(path):
        blob.chmod(0o600)
        blob.write_bytes(b"damaged" + blob.read_bytes()[7:])
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(_load(path).run(_image())["y"], right)
    assert ("damaged" in caplog.text) == bool(_blobs(path))


def test_plans_of_each_choice_are_stored_apart(path: Path) -> None:
    _load(path)
    _load(path, kernels="onnxruntime")
    assert len(list((path.parent / "cache").glob("*/plan-*.json"))) == 2
    assert _load(path, kernels="onnxruntime").plan.libraries == ()
    assert _load(path).plan.libraries == ("openvino",)


def test_a_session_like_onnx_runtimes_keeps_to_its_kernels(path: Path) -> None:
    cache = path.parent / "cache"
    os.environ["SURPLUS_KERNELS"] = "auto"
    try:
        session = surplus.InferenceSession(path, cache=cache, devices="cpu:2", selection_s=0)
    finally:
        os.environ["SURPLUS_KERNELS"] = "onnxruntime"
    assert session.model.plan.libraries == ()


def test_a_model_without_gain_is_loaded_without_the_library(tmp_path: Path) -> None:
    doubles = {"x": _image()["x"].astype(np.float64)}
    path = _of_one(tmp_path, "Softmax", TensorProto.DOUBLE)
    plain = _load(path, inputs=doubles, kernels="onnxruntime")
    model = _load(path, inputs=doubles, kernels="auto")
    assert model.plan.segments[0].kernels is None
    assert model.run(doubles)["y"].tobytes() == plain.run(doubles)["y"].tobytes()
    code = f"""
import numpy as np
from surplus.engine.pipeline.load import load_planned
given = dict(x=np.ones((1, 3, 16, 16)))
cache = {str(tmp_path / "cache")!r}
model = load_planned({str(path)!r}, cache=cache, devices="cpu:2", kernels="auto",
                     selection_s=0, inputs=given)
model.run(given)
print("openvino" in open("/proc/self/maps").read())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "False", done.stderr


def test_a_library_that_is_gone_costs_only_its_kernels(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = _load(path)
    right = model.run(_image())["y"]
    code = f"""
import logging, sys, numpy as np
logging.basicConfig(level=logging.WARNING)
from surplus.engine.kernels import registry
from surplus.engine.errors import RuntimeLibraryError
import surplus.engine.runtime.kernel_choices as choices
def gone(name): raise RuntimeLibraryError("it is gone")
choices.open_library = gone
from surplus.engine.pipeline.load import load_planned
model = load_planned({str(path)!r}, cache={str(path.parent / "cache")!r}, devices="cpu:2",
                     kernels="openvino", selection_s=0, inputs=dict(x=np.zeros((1,3,16,16),"f4")))
given = dict(np.load({str(path.parent / "x.npz")!r}))
np.save({str(path.parent / "answer.npy")!r}, model.run(given)["y"])
"""
    np.savez(path.parent / "x.npz", **_image())
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "runs with ONNX Runtime's kernels: it is gone" in done.stderr
    assert np.allclose(np.load(path.parent / "answer.npy"), right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["Relu", "Sigmoid"])
def test_overlapping_queries_have_the_bits_of_one(path: Path, op: str) -> None:
    model = _load(_network(path.parent, op=op))
    (segment,) = model.plan.segments
    narrow = narrow_plan(model.graph, model.plan, 2, Departure.SAME_BITS)
    assert segment.kernels is not None
    assert (narrow is None) == (segment.width == 1 or not segment.kernels.any_width)
    right = model.run(_image())["y"]
    futures = [model.submit(_image()) for _ in range(40)]
    assert all(np.array_equal(future.result()["y"], right) for future in futures)


def _of_one(folder: Path, op: str, elem_type: int, **attributes: Any) -> Path:
    """A model of one operator without weights."""
    shape = [1, 3, 16, 16]
    made = helper.make_node(op, ["x"], ["v"], **attributes)
    graph = helper.make_graph(
        [made, helper.make_node("Relu", ["v"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", elem_type, shape)],
        [helper.make_tensor_value_info("y", elem_type, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / f"{op}-{elem_type}.onnx"
    onnx.save(model, path)
    return path


def test_random_numbers_and_doubles_stay_with_onnx_runtime(tmp_path: Path) -> None:
    assert _load(_of_one(tmp_path, "Softmax", TensorProto.FLOAT)).plan.libraries == ("openvino",)
    doubles = {"x": _image()["x"].astype(np.float64)}
    path = _of_one(tmp_path, "Softmax", TensorProto.DOUBLE)
    assert _load(path, inputs=doubles).plan.libraries == ()
    path = _of_one(tmp_path, "RandomNormalLike", TensorProto.FLOAT, seed=1.0)
    assert _load(path).plan.libraries == ()


def test_a_quantised_network_may_move_by_its_steps(path: Path) -> None:
    from onnxruntime import quantization

    class Images(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [_image(seed=seed) for seed in range(3)]

        def get_next(self) -> dict[str, Any] | None:
            return self.left.pop() if self.left else None

    quantised = path.with_name("quantised.onnx")
    quantization.quantize_static(_network(path.parent, 1), quantised, Images())
    plain, model = _load(quantised, kernels="onnxruntime"), _load(quantised)
    assert model.plan.libraries == ("openvino",)
    right, found = plain.run(_image())["y"], model.run(_image())["y"]
    assert np.max(np.abs(right - found)) <= 5e-2 * np.max(np.abs(right))


def test_weights_that_do_not_fit_stay_with_onnx_runtime(path: Path) -> None:
    assert _load(path, kernel_memory="1KiB").plan.libraries == ()


def test_a_plan_with_kernels_survives_being_written(path: Path) -> None:
    plan = _load(path).plan
    assert type(plan).from_json(plan.to_json()) == plan


def test_devices_say_which_libraries_are_here() -> None:
    rows = {row.pop("name"): row for row in inventory()["kernels"]}
    version = installed()["openvino"]
    assert rows["openvino"] == {"for": "cpu", "version": version, "usable": "yes"}
    assert rows["tensorrt"]["for"] == "cuda"


def test_the_contest_chooses_whatever_it_finds(path: Path) -> None:
    model = _load(path, kernels="auto", selection_s=LoadParams.selection_s)
    right = _load(path, kernels="onnxruntime").run(_image())["y"]
    assert np.allclose(model.run(_image())["y"], right, rtol=1e-4, atol=1e-4)
    assert model.judgement is not None
    assert not any(other.read().libraries for other in model.judgement.runners_up)


@pytest.mark.skipif(
    not LIBRARIES["openvino"].computes_in("bf16"), reason="no instructions for bf16"
)
def test_fewer_bits_are_used_only_when_asked_for(path: Path) -> None:
    plain, fewer = _load(path, kernels="onnxruntime"), _load(path, precision="bf16")
    assert fewer.facts["kernels"].endswith(" in bf16")
    right, found = plain.run(_image())["y"], fewer.run(_image())["y"]
    apart = np.max(np.abs(right - found)) / np.max(np.abs(right))
    assert 1e-4 < apart <= 5e-2
    assert fewer.facts["largest_difference"] == f"{apart:.3g} (output 'y')"
    assert _load(path).facts["kernels"] == f"OpenVINO {installed()['openvino']}"
