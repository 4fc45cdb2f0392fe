"""A program frozen by PyInstaller: it answers, and starts no process of itself.

``make test-adopted`` installs PyInstaller into build/adopted/base; nothing is fetched here.
"""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sysconfig
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.built_wheel import built_wheel
from tests.empty_environment import empty_environment

PROGRAM = Path(__file__).with_name("frozen_program.py")
INSTALLED = Path(__file__).parents[2] / "build" / "adopted" / "base"
WAIT_S = 600  # only a hang reaches it


def _missing() -> str:
    shared = sysconfig.get_config_var("LDLIBRARY") or ""
    if not (INSTALLED / "PyInstaller").exists():
        return "PyInstaller is missing: make test-adopted installs it"
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return f"libpython is missing: this Python has {shared} only"
    return ""


pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What PyInstaller makes of it, told of nothing: hooks come with the package."""
    folder = tmp_path_factory.mktemp("frozen")
    faulthandler.cancel_dump_traceback_later()  # freezing takes long, and has a limit of its own
    wheel, extras = built_wheel(folder), ("cpu",)
    python = empty_environment(folder / "venv", wheel, extras, (INSTALLED,))
    words = ["-m", "PyInstaller", "--onedir", "--noconfirm", "--log-level", "WARN", str(PROGRAM)]
    subprocess.run([str(python), *words], cwd=folder, check=True, timeout=WAIT_S)
    return folder / "dist" / PROGRAM.stem / PROGRAM.stem


def test_it_answers_and_starts_no_process_of_itself(program: Path, tmp_path: Path) -> None:
    made = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])],
        "negated",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(made, opset_imports=[opset], ir_version=9), tmp_path / "m.onnx")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SURPLUS_", "PYTHON"))}
    home = {"HOME": str(tmp_path), "STARTS": str(tmp_path / "starts")}
    done = subprocess.run(
        [str(program), str(tmp_path / "m.onnx")],
        env={**kept, **home},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[-0.0, -1.0, -2.0]"] * 3 + ["over"]
    starts = (tmp_path / "starts").read_text().splitlines()
    assert len(starts) == 1, starts
