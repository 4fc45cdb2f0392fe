"""Programs that are adopted: their ``import onnxruntime``, and that of their children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surplus.engine.dropin.adopted import VARIABLE, adopted_options
from surplus.engine.dropin.adoption import environment
from surplus.engine.errors import ConfigError, DeviceError

_PRINTS = "import onnxruntime; print(onnxruntime.InferenceSession.__module__)"
_OURS = "surplus.engine.dropin.inference_session\n"


def run(*command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    before = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    return subprocess.run(
        command,
        env=environment(before, {"devices": "cpu:1"}),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_a_module_and_a_child_get_ours(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(_PRINTS)
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys; subprocess.run([sys.executable, '-m', 'app'], check=True)"
    )
    for words in (["app.py"], ["-m", "app"], ["-c", _PRINTS], ["parent.py"]):
        done = run(sys.executable, *words, folder=tmp_path)
        assert (done.stdout, done.stderr) == (_OURS, ""), words


def test_what_does_not_stand_in_is_onnxruntimes_own(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        """
import onnxruntime, sys
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.capi import onnxruntime_pybind11_state as state
from onnxruntime import SparseTensor
print(onnxruntime.__version__ == onnxruntime.get_version_string())
print(onnxruntime.capi.onnxruntime_pybind11_state is state)
print(any("pybind11_state.cpython" in (getattr(m, "__file__", "") or "")
          for m in list(sys.modules.values())))
try:
    SparseTensor.sparse_coo_from_numpy
except state.NotImplemented as error:
    print(error)
try:
    from onnxruntime import nothing
except ImportError as error:
    print(error)
"""
    )
    done = run(sys.executable, "app.py", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["True", "True", "False"], done.stderr
    assert "onnxruntime.SparseTensor is not there: sparse tensors" in lines[3]
    assert "cannot import name 'nothing'" in lines[4]


def test_quantisation_of_onnxruntimes_own_runs_on_ours(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        """
import numpy as np, onnxruntime
from onnxruntime.quantization import quantize_dynamic
from surplus import models
path = models.save(models.build("lenet"), "lenet.onnx")
quantize_dynamic(path, "quantised.onnx")
session = onnxruntime.InferenceSession("quantised.onnx", providers=["CPUExecutionProvider"])
feed = {name: array[:1] for name, array in models.example_inputs("lenet").items()}
print(session.run(None, feed)[0].shape)
"""
    )
    done = run(sys.executable, "app.py", folder=tmp_path)
    assert (done.stdout, done.returncode) == ("(1, 10)\n", 0), done.stderr


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('the user\\'s')")
    done = run(sys.executable, "-c", _PRINTS, folder=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert done.stdout == f"the user's\n{_OURS}"


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="the only Python has the engine")
def test_a_python_without_the_engine_goes_on_and_is_told(tmp_path: Path) -> None:
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    (tmp_path / "onnxruntime.py").write_text("print('the other one')")
    done = run(python, "-c", "import onnxruntime", folder=tmp_path)
    assert done.stdout == "the other one\n"
    assert "onnxruntime is not adopted" in done.stderr
    done = run(python, "-c", "print('all')", folder=tmp_path)
    assert (done.stdout, done.stderr) == ("all\n", "")


def test_options_reach_the_sessions(tmp_path: Path) -> None:
    found = environment({"PYTHONPATH": "/mine"}, {"devices": "cpu:1", "deadline_s": 0.005})
    assert found["PYTHONPATH"].endswith(f"{os.pathsep}/mine")
    assert adopted_options(found) == {"devices": "cpu:1", "deadline_s": 0.005}
    assert json.loads(found[VARIABLE]) == adopted_options(found)
    again = environment(found, {})
    assert again["PYTHONPATH"] == found["PYTHONPATH"]
    assert adopted_options(again) == {}
    assert adopted_options({}) == {}


def test_wrong_options_are_refused_before_the_program_starts() -> None:
    with pytest.raises(DeviceError, match="nothing"):
        environment({}, {"devices": "nothing:1"})
    with pytest.raises(ConfigError, match="deadline_s"):
        environment({}, {"deadline_s": 0})
    with pytest.raises(ConfigError, match=VARIABLE):
        adopted_options({VARIABLE: "[1]"})
