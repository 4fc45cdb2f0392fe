"""What a start costs in imports, by the modules themselves: a stored plan needs few."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import surplus
from surplus.engine.element_type import ElementType

_FORBIDDEN = (
    "onnx",
    "google",
    "ml_dtypes",
    "asyncio",
    "sqlite3",
    "statistics",
    "rich",
    "grpc",
    "onnxruntime",
    "surplus.engine.convert",
    "surplus.engine.report",
    "surplus.engine.serving",
    "surplus.engine.cli",
    "engine.dfg.onnx_reader",
    "surplus.engine.dfg.optimise",
    "surplus.engine.pipeline.first_queries",
    "surplus.engine.pipeline.making",
    "surplus.engine.planning.stages",
    "surplus.engine.planning.choice",
    "surplus.engine.planning.tuning",
    "surplus.engine.profiling.profiler",
    "surplus.engine.profiling.timing_store",
    "surplus.engine.contest.contest",
    "surplus.engine.store.prepacking",
    "surplus.engine.segmentation.segmenter",
    "surplus.engine.segmentation.plan_making",
    "surplus.placement.policy",
    "surplus.placement.simulator",
    "milp",
    "models",
)

_NOT_AT_FIRST = (
    *_FORBIDDEN,
    "hashlib",
    "json",
    "msgspec",
    "pkgutil",
    "queue",
    "signal",
    "surplus.engine.cache",
    "surplus.engine.cuda_libraries",
    "surplus.engine.detached_process",
    "surplus.engine.devices.emulation_params",
    "surplus.engine.devices.host",
    "surplus.engine.devices.links",
    "surplus.engine.devices.plugins",
    "surplus.engine.dfg.content",
    "surplus.engine.dfg.file_hashes",
    "surplus.engine.dfg.known_graph",
    "surplus.engine.dfg.summary_file",
    "surplus.engine.dfg.zip_map",
    "surplus.engine.examples",
    "surplus.engine.kernels.conformance",
    "surplus.engine.kernels.registry",
    "surplus.engine.runtime.compiled_kernel",
    "surplus.engine.runtime.kernel_choices",
    "surplus.engine.runtime.layout",
    "surplus.engine.runtime.moved_plan",
    "surplus.engine.runtime.queueing",
    "surplus.engine.runtime.same_bits",
    "surplus.engine.runtime.stacks",
    "surplus.engine.runtime.throughput_plan",
    "surplus.engine.segmentation.plan_part",
    "surplus.engine.store.compiled",
    "surplus.engine.store.prepacked",
    "surplus.engine.store.segments",
)
"""What the first answer of an unknown model waits for in no case."""

_MOST_AT_FIRST = 81
"""Of our modules: each takes 0.3 ms, whatever is in it."""

_IMPORTED = "import json, sys; print(json.dumps(sorted(sys.modules)))"

_ANSWERED = """
import json, sys
import numpy as np
import surplus

model = surplus.load(sys.argv[1], cache=sys.argv[2], devices="cpu:2")
model.run({"x": np.ones((2, 3), np.float32)})
print(json.dumps(sorted(sys.modules)))
"""


_ANSWERED_FIRST = """
import sys
import numpy as np
import surplus

before = set(sys.modules)
model = surplus.load(sys.argv[1], cache=sys.argv[2], tune="background")
model.run({"x": np.ones((2, 3), np.float32)})
found = sorted(set(sys.modules) - before)

import json
print(json.dumps(found))
"""


def _modules(code: str, *arguments: str) -> set[str]:
    """What a fresh interpreter has imported at the end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def _model(folder: Path, rows: int | str) -> Path:
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(name, 1, [rows, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    path = folder / "relu.onnx"
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.mark.parametrize("rows", [2, "batch"])
def test_a_stored_plan_imports_nothing_of_onnx_or_planning(tmp_path: Path, rows: int | str) -> None:
    path, cache = _model(tmp_path, rows), tmp_path / "cache"
    surplus.load(path, cache=cache, devices="cpu:2", selection_s=0)
    found = _modules(_ANSWERED, str(path), str(cache))
    assert not [name for name in _FORBIDDEN if name in found]


def test_a_first_answer_imports_neither_what_plans_nor_what_measures(tmp_path: Path) -> None:
    found = _modules(_ANSWERED_FIRST, str(_model(tmp_path, 2)), str(tmp_path / "cache"))
    assert not [name for name in _NOT_AT_FIRST if name in found]
    assert sum(name.startswith("surplus.") for name in found) <= _MOST_AT_FIRST


def test_a_server_is_ready_without_onnx_planning_or_tables() -> None:
    found = _modules(f"import surplus.engine.cli.main, surplus.engine.serving.life; {_IMPORTED}")
    heavy = (
        "onnx",
        "rich",
        "onnxruntime",
        "surplus.engine.pipeline.making",
        "surplus.engine.planning.stages",
    )
    assert not [name for name in heavy if name in found]


def test_the_package_itself_imports_next_to_nothing() -> None:
    new = _modules(f"import surplus; {_IMPORTED}") - _modules(_IMPORTED)
    assert {name for name in new if name.partition(".")[0] == "surplus"} == {"surplus"}
    assert not {name.partition(".")[0] for name in new} & {"numpy", *_FORBIDDEN}


def test_element_types_are_those_of_onnx() -> None:
    known = dict(onnx.TensorProto.DataType.items())
    assert {item.name: item.value for item in ElementType}.items() <= known.items()
