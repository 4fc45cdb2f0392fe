"""CUDA devices where there is no GPU: what is missing is named."""

import shutil
import subprocess
from pathlib import Path

import pytest

from surplus.engine._core import DeviceOptions, Machine, PlanBuilder
from surplus.engine.errors import RuntimeLibraryError
from surplus.engine.native import find_cuda_library, load_runtime
from tests.core.session_plans import ADD

SOURCE = Path(__file__).parents[2] / "engine" / "core" / "tests" / "fake_cuda.cpp"

load_runtime()


def cuda(path):
    options = DeviceOptions(kind="cuda", name="cuda:0", lanes=1)
    cuda_options = options.cuda
    cuda_options.library = str(path)
    return options


def test_an_onnx_runtime_without_cuda_is_named_with_what_it_lacks(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    path = tmp_path / "libfake_cuda.so"
    command = [compiler, "-std=c++20", "-shared", "-fPIC", str(SOURCE), "-o", str(path)]
    subprocess.run(command, check=True, timeout=300)
    machine = Machine([DeviceOptions(), cuda(path)])
    builder = PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    with pytest.raises(
        RuntimeError, match=r"no CUDA provider.*not enabled in this build"
    ) as caught:
        builder.add_session("double", 1, ADD, [("x", x)], [("y", y)])
    assert "libonnxruntime_providers_cuda.so" in str(caught.value)
    machine.close()


def test_a_missing_cuda_library_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"libnone\.so"):
        Machine([DeviceOptions(), cuda(tmp_path / "libnone.so")])


def test_the_cuda_library_is_the_named_one(monkeypatch, tmp_path):
    path = tmp_path / "libcudart.so.13"
    monkeypatch.setenv("SURPLUS_CUDA_LIBRARY", str(path))
    with pytest.raises(RuntimeLibraryError, match=r"SURPLUS_CUDA_LIBRARY names .*libcudart"):
        find_cuda_library()
    path.touch()
    assert find_cuda_library() == str(path)
