"""Triton as a contender of bench neighbours: what is written for it, and when it is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.infrastructure.process_tree import tree_cpu_s
from bench.neighbours import contender
from bench.neighbours.mixes import BACKGROUND, MIXES, Stream
from bench.neighbours.triton import environment, server
from bench.neighbours.triton.answering import TritonPythonModel
from bench.neighbours.triton.environment import TritonEnvironment
from bench.neighbours.triton.loading import NICE, in_triton
from bench.neighbours.triton.model_files import TritonModelParams, config_of, write_model
from bench.neighbours.triton.server import options

PARAMS = TritonModelParams(Path("m.onnx"), "openvino", instances=2, nice=19)


@pytest.fixture
def there(tmp_path: Path) -> TritonEnvironment:
    """The files that are asked for, empty."""
    root = tmp_path / "triton/lib/python3.11/site-packages/pytriton/tritonserver"
    for file in (
        "bin/tritonserver",
        "python_backend_stubs/3.11/triton_python_backend_stub",
        "backends/python/libtriton_python.so",
        "backends/python/triton_python_backend_utils.py",
    ):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return TritonEnvironment(tmp_path / "triton")


def test_a_configuration_names_what_is_typed() -> None:
    text = config_of(
        "m",
        PARAMS,
        {"x": ("FP32", (1, 3)), "word": ("BYTES", (1,))},
        {"y": ("INT64", (1, 9)), "count": ("FP32", ())},
    )
    assert text.splitlines() == [
        'name: "m"',
        'backend: "python"',
        "max_batch_size: 0",
        'input [{ name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] }]',
        'input [{ name: "word" data_type: TYPE_STRING dims: [ 1 ] }]',
        'output [{ name: "y" data_type: TYPE_INT64 dims: [ -1, -1 ] }]',
        'output [{ name: "count" data_type: TYPE_FP32 dims: [ -1 ] }]',
        "instance_group [{ kind: KIND_CPU count: 2 }]",
        'parameters { key: "file" value { string_value: "m.onnx" } }',
        'parameters { key: "library" value { string_value: "openvino" } }',
        'parameters { key: "nice" value { string_value: "19" } }',
    ]


def test_queries_may_be_joined() -> None:
    params = TritonModelParams(Path("m.onnx"), "onnxruntime", 2, max_batch=16, delay_us=100)
    lines = config_of("m", params, {"x": ("FP32", (3,))}, {"y": ("FP32", (9,))}).splitlines()
    assert "max_batch_size: 16" in lines
    assert "dynamic_batching { max_queue_delay_microseconds: 100 }" in lines


def test_a_model_lies_in_the_repository_with_what_answers(tmp_path: Path) -> None:
    write_model(tmp_path, "m", PARAMS, {}, {})
    assert (tmp_path / "m/config.pbtxt").read_text().startswith('name: "m"\n')
    assert "class TritonPythonModel" in (tmp_path / "m/1/model.py").read_text()


def test_the_server_is_for_this_machine_alone(tmp_path: Path) -> None:
    found = options(tmp_path, 4711)
    assert f"--model-repository={tmp_path}/repository" in found
    assert {"--grpc-port=4711", "--grpc-address=127.0.0.1", "--allow-http=false"} <= set(found)


def test_the_stub_of_its_python_lies_beside_the_backend(
    there: TritonEnvironment, tmp_path: Path
) -> None:
    there.link_backends(tmp_path / "backends")
    assert {file.name for file in (tmp_path / "backends/python").iterdir()} == {
        "libtriton_python.so",
        "triton_python_backend_utils.py",
        "triton_python_backend_stub",
    }


def test_the_server_is_kept_from_our_packages(there: TritonEnvironment) -> None:
    found = there.variables({"PATH": "/bin", "PYTHONPATH": "/ours", "HOME": "/home"})
    assert found["PATH"] == f"{there.folder}/bin:/bin"
    assert found["HOME"] == "/home"
    assert "PYTHONPATH" not in found
    assert found["LD_LIBRARY_PATH"].endswith("nvidia_pytriton.libs")


def test_where_it_is_there_nothing_is_left_out(
    there: TritonEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.missing(there.folder) is None
    monkeypatch.setattr(contender, "missing", lambda: None)
    assert contender.left_out() == {}


@pytest.mark.parametrize("gone", ["bin/tritonserver", "python_backend_stubs/3.11"])
def test_without_a_file_it_is_left_out_and_said_why(there: TritonEnvironment, gone: str) -> None:
    file = there.server.parents[1] / gone
    file.rename(file.with_name("elsewhere"))
    reason = environment.missing(there.folder)
    assert reason is not None
    assert str(file) in reason
    assert "make triton" in reason


def test_contenders_that_are_left_out_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contender, "missing", lambda: "no /there")
    assert contender.left_out() == {contender.TRITON: "no /there"}
    assert contender.TRITON in contender.HOW


def test_streams_share_a_server_and_have_the_library_that_is_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    loaded: dict[str, TritonModelParams] = {}

    class Served:
        def __init__(self, folder: Path) -> None:
            made.append(folder)

        def load(self, name: str, params: TritonModelParams, inputs: object) -> Any:
            loaded[name] = params
            return lambda: inputs

    monkeypatch.setattr(server, "TritonServer", Served)
    monkeypatch.setattr(Stream, "built", lambda self: (Path(self.model), {}))
    libraries: Any = {
        "onnxruntime": lambda stream, cache: lambda: 2,
        "openvino": lambda stream, cache: lambda: 1 if stream.due_ms else 3,
    }
    load = in_triton(libraries, lambda ask: float(ask()), 2)  # type: ignore[arg-type]
    load(MIXES["voice"][0], tmp_path)
    load(BACKGROUND, tmp_path)
    assert len(made) == 1
    assert loaded == {
        "voice_1": TritonModelParams(Path("lstm"), "openvino", 2, nice=0),
        "background": TritonModelParams(Path("resnet50"), "onnxruntime", 2, nice=NICE),
    }


@pytest.mark.parametrize(
    ("library", "most_rows", "queries"),
    [("onnxruntime", 0, 1), ("openvino", 0, 1), ("openvino", 4, 2)],
)
def test_what_runs_within_answers_as_the_model_does(
    library: str, most_rows: int, queries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    backend = _backend()
    monkeypatch.setitem(sys.modules, backend.__name__, backend)
    file, x = _doubling(tmp_path / "m.onnx")
    said = {"file": str(file), "library": library, "nice": "0"}
    parameters = {key: {"string_value": value} for key, value in said.items()}
    model = TritonPythonModel()
    config = {"parameters": parameters, "output": [{"name": "y"}], "max_batch_size": most_rows}
    model.initialize({"model_config": json.dumps(config)})
    asked = [
        types.SimpleNamespace(inputs=lambda array=array: [backend.Tensor("x", array)])
        for array in (x, 3 * x)[:queries]
    ]
    answers = [answer["output_tensors"] for answer in model.execute(asked)]
    assert [y.name() for (y,) in answers] == ["y"] * queries
    for (y,), wanted in zip(answers, (2 * x, 6 * x), strict=False):
        np.testing.assert_array_equal(y.as_numpy(), wanted)


def _backend() -> Any:
    class Tensor:
        def __init__(self, name: str, array: Any) -> None:
            self.name, self.as_numpy = lambda: name, lambda: array

    backend: Any = types.ModuleType("triton_python_backend_utils")
    backend.Tensor, backend.InferenceResponse = Tensor, dict
    return backend


def _doubling(path: Path) -> tuple[Path, Any]:
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 3]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path, np.arange(6, dtype=np.float32).reshape(2, 3)


def test_the_time_of_a_process_that_descends_counts() -> None:
    work = "import sys, time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)"
    words = [sys.executable, "-c", work + "\nsys.stdin.read()"]
    pipe = subprocess.PIPE
    before_s = tree_cpu_s(os.getpid())
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert tree_cpu_s(os.getpid()) - before_s > 0.1  # ticks are coarse
