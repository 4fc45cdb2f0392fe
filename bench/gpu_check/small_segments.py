"""Segments of a few operators, made for the questions of the first stage."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import core_options
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import load_runtime
from surplus.engine.profiling.segment_probe import Probed
from surplus.engine.values import to_value

HOST = 0


def sums(count: int) -> Probed:
    """``count`` additions in a row, a kernel each: nothing fuses them."""
    nodes = [helper.make_node("Add", [f"v{i}", "one"], [f"v{i + 1}"]) for i in range(count)]
    return _probed(nodes, [64], [64], f"v{count}", {"one": np.ones(64, np.float32)})


def product(size: int) -> Probed:
    """Two square matrices of so many rows."""
    weight = np.ones((size, size), np.float32)
    node = helper.make_node("MatMul", ["v0", "w"], ["y"])
    return _probed([node], [size, size], [size, size], "y", {"w": weight})


def convolution(channels: int, extent: int) -> Probed:
    """A 3 x 3 convolution that keeps the sizes."""
    shape = [1, channels, extent, extent]
    weight = np.ones((channels, channels, 3, 3), np.float32)
    node = helper.make_node("Conv", ["v0", "w"], ["y"], pads=[1, 1, 1, 1])
    return _probed([node], shape, shape, "y", {"w": weight})


def convolution_and_product() -> Probed:
    """What takes cuDNN's, cuBLAS' and cuBLASLt's handles, of little memory."""
    weights = {
        "w": np.ones((8, 3, 3, 3), np.float32),
        "m": np.ones((8 * 32 * 32, 10), np.float32),
        "b": np.ones(10, np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["v0", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("Gemm", ["f", "m", "b"], ["y"]),
    ]
    return _probed(nodes, [1, 3, 32, 32], [1, 10], "y", weights)


def machine_of(gpu: str, lanes: int, *, lane_threads: bool = True) -> _core.Machine:
    """A CPU lane, and a GPU on all lanes of which segments are opened with their plans."""
    load_runtime()
    specs = parse_devices(f"cpu:1,{gpu}:{lanes}")
    every = core_options(specs, EmulationParams(), reopens=False)
    every[1].cuda.lanes_at_once = lanes
    every[1].cuda.lane_threads = lane_threads
    return _core.Machine(every)


def plan_of(machine: _core.Machine, device: int, segment: Probed, *, captured: bool) -> _core.Plan:
    """The segment between copies."""
    builder = _core.PlanBuilder(machine)
    given, moved, back = [], [], []
    for name in segment.inputs:
        given.append(builder.add_value(name))
        moved.append((name, builder.add_value(name)))
        builder.add_copy(name, HOST, device, given[-1], moved[-1][1])
    made = [(name, builder.add_value(name)) for name in segment.outputs]
    charge = 0 if captured else -1
    builder.add_session(
        "segment", device, segment.model, moved, made, level=segment.level, captured_ns=charge
    )
    for name, value in made:
        back.append(builder.add_value(name))
        builder.add_copy(name, device, HOST, value, back[-1])
    builder.set_inputs(given)
    builder.set_outputs(back)
    return builder.build()


def _probed(
    nodes: list[onnx.NodeProto],
    given: list[int],
    made: list[int],
    output: str,
    weights: dict[str, np.ndarray],
) -> Probed:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "segment",
        [value("v0", TensorProto.FLOAT, given)],
        [value(output, TensorProto.FLOAT, made)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = to_value(np.ones(given, np.float32), TensorProto.FLOAT)
    return Probed(model.SerializeToString(), {"v0": x}, [output])
