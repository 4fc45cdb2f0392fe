"""A small model, placements of it by hand, and ONNX Runtime's own module, which opens them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx

from surplus.engine.dfg.onnx_reader import read
from surplus.engine.emit import Placed
from surplus.placement import Device, Link, Placement, Problem, Task, Tensor

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "emit.md"
LOGGED = "import onnxruntime\nonnxruntime.set_default_logger_severity(0)\n"
ASKED = """
import numpy as np

parts = session.get_provider_graph_assignment_info()
nodes = {node.name: part.ep_name for part in parts for node in part.get_nodes()}
answer = session.run(None, {"x": np.arange(4, dtype=np.float32)})
print(json.dumps({"nodes": nodes, "answer": answer[0].tolist()}))
"""


def model_of(path: Path, names: list[str]) -> Path:
    """Branches of one node each, the first of which is x, the second 2 x, and what adds them up."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Mul", ["x", f"w{i}"], [f"b{i}"], n) for i, n in enumerate(names)]
    ends = [f"b{i}" for i in range(len(names))]
    nodes.append(helper.make_node("Sum", ends, ["y"], "join"))
    weights = [
        onnx.numpy_helper.from_array(np.full(4, i + 1, np.float32), f"w{i}")
        for i in range(len(names))
    ]
    ins, outs = [value("x", kind, [4])], [value("y", kind, [4])]
    graph = helper.make_graph(nodes, "branches", ins, outs, weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def placed_on(path: Path, device_of: list[int], devices: tuple[Device, ...]) -> Placed:
    """Times are made up: what is written does not depend on them."""
    graph = read(path, path.parent / "cache")
    spaces = dict.fromkeys(device.memory for device in devices)
    links = tuple(Link(a, b) for a in spaces for b in spaces if a != b)
    tasks = tuple(
        Task(task.name, task.op_type, (5_000,) * len(devices), weight_bytes=16)
        for task in graph.tasks
    )
    tensors = tuple(Tensor(t.name, t.producer, t.consumers, 16, t.is_output) for t in graph.tensors)
    problem = Problem("branches", devices, links, tasks, tensors)
    placement = Placement(tuple(device_of), tuple(range(len(tasks))), "by hand")
    return Placed(path, graph, problem, placement)


CPU_GPU = (Device("cpu"), Device("cuda:0", memory="cuda:0", memory_bytes=10_000))


def opened(folder: Path, environment: Mapping[str, str] = os.environ) -> tuple[dict, str]:
    """What ONNX Runtime makes of a folder by the code of the page that says how, and its log."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    document = document_in(folder)
    document["entries"]["session.record_ep_graph_assignment_info"] = "1"
    (folder / "session_options.json").write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, "-c", LOGGED + code + ASKED],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout), done.stderr


def document_in(folder: Path) -> dict:
    return json.loads((folder / "session_options.json").read_text())
