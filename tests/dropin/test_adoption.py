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

_PRINTS = "import onnxruntime; print(onnxruntime.__author__)"
_OURS = "Microsoft, and surplus in its place\n"


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


def printed(script: str, folder: Path) -> list[str]:
    """Lines of an adopted program, which must end well."""
    (folder / "app.py").write_text(script)
    done = run(sys.executable, "-W", "error", "app.py", folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_HAS_EXTENSION = """
def has_extension():
    return any("onnxruntime_pybind11_state.c" in line for line in open("/proc/self/maps"))
"""


def test_what_does_not_stand_in_is_onnxruntimes_own(tmp_path: Path) -> None:
    script = f"""{_HAS_EXTENSION}
import onnxruntime
from onnxruntime.quantization import quantize_dynamic
from onnxruntime.capi import onnxruntime_pybind11_state as state
print(onnxruntime.__version__ == onnxruntime.get_version_string())
print(onnxruntime.capi.onnxruntime_pybind11_state is state)
print(not has_extension())
from onnxruntime import OrtMemType, SparseTensor, preload_dlls
print(has_extension(), OrtMemType.DEFAULT.name)
print(onnxruntime.capi.onnxruntime_pybind11_state is state)
preload_dlls()
print(onnxruntime.package_name, repr(onnxruntime.cuda_version), onnxruntime.version)
import numpy as np
device = onnxruntime.OrtDevice.make("cpu", 0)
sparse = SparseTensor.sparse_coo_from_numpy([4], np.ones(1), np.array([2]), device)
print(sparse.data_type())
try:
    from onnxruntime import nothing
except ImportError as error:
    print(error)
"""
    lines = printed(script, tmp_path)
    assert lines[:6] == ["True", "True", "True", "True DEFAULT", "True", lines[5]]
    assert lines[5].startswith("onnxruntime '' 1.")
    assert lines[6] == "sparse_tensor(double)"
    assert "cannot import name 'nothing'" in lines[7]


def test_names_of_the_modules_are_onnxruntimes(tmp_path: Path) -> None:
    script = """
import importlib, json
names = ["onnxruntime", "onnxruntime.capi.onnxruntime_pybind11_state", "onnxruntime.capi",
         "onnxruntime.capi._pybind_state", "onnxruntime.capi.onnxruntime_inference_collection"]
for name in names:
    module = importlib.import_module(name)
    imported = ("os", "platform", "warnings")  # by ONNX Runtime's
    found = [each for each in dir(module) if hasattr(module, each) and each not in imported]
    print(json.dumps(found))
"""
    (tmp_path / "app.py").write_text(script)
    plain = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for ours, theirs in zip(printed(script, tmp_path), plain.stdout.splitlines(), strict=True):
        public = [{each for each in json.loads(line) if each[0] != "_"} for line in (ours, theirs)]
        assert public[0] == public[1]


def test_what_goes_past_the_engine_is_refused_by_name(tmp_path: Path) -> None:
    script = """
import onnxruntime
for name in ("LoraAdapter", "AdapterFormat", "ModelCompiler", "ModelPackageContext"):
    try:
        getattr(onnxruntime, name)("model")
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        print(error)
"""
    lines = printed(script, tmp_path)
    assert len(lines) == 4
    assert all("is not there: " in line for line in lines)


def test_the_log_calls_back(tmp_path: Path) -> None:
    script = """
import onnxruntime
from onnxruntime.datasets import get_example
heard = []
onnxruntime.set_default_logger_callback(lambda *said: heard.append(said), 0)
onnxruntime.InferenceSession(get_example("sigmoid.onnx"))
print(heard[0][0], [type(each).__name__ for each in heard[0]])
onnxruntime.set_default_logger_callback(None)
count = len(heard)
onnxruntime.InferenceSession(get_example("sigmoid.onnx"))
print(len(heard) == count)
for wrong in (("call",), (print, 9)):
    try:
        onnxruntime.set_default_logger_callback(*wrong)
    except RuntimeError as error:
        print(error)
"""
    lines = printed(script, tmp_path)
    assert lines[:2] == ["0 ['int', 'str', 'str', 'str', 'str']", "True"]
    assert "must be a callable" in lines[2]
    assert "Invalid logging severity" in lines[3]


_TOOLS = """
import warnings; warnings.simplefilter("ignore")
import os, sys, types
import numpy as np, onnx, onnxruntime
from pathlib import Path
from onnx import parser
text = '<ir_version: 9, opset_import: ["" : 17]> m (float[n, 64] x) => (float[n, 32] y)'
text += "{ c = Constant<value_float = 2.0>() w = Expand(c, s) m = MatMul(x, w) y = Relu(m) }"
text = text.replace("{ c", '<int64[2] s = {64, 32}> { c')
onnx.save(parser.parse_model(text), "m.onnx")
x = {"x": np.ones((2, 64), np.float32)}

def answer(model):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    print(float(session.run(None, x)[0][0, 0]), type(session.model).__module__)
"""


def test_tools_of_onnxruntimes_own_run_on_ours(tmp_path: Path) -> None:
    script = f"""{_TOOLS}
sys.modules["torch"] = torch = types.ModuleType("torch")  # which the optimiser asks for a GPU alone
torch.version = types.SimpleNamespace(cuda=None, hip=None)
from onnxruntime.transformers import optimizer
for level in (1, 2, 99):
    answer(optimizer.optimize_by_onnxruntime("m.onnx", opt_level=level, disabled_optimizers=["X"]))
del sys.modules["torch"]
from onnxruntime.quantization.shape_inference import quant_pre_process
quant_pre_process("m.onnx", "prepared.onnx", skip_symbolic_shape=True)
answer("prepared.onnx")
from onnxruntime.capi._pybind_state import quantize_matmul_4bits
packed, scales = np.zeros((32, 2, 16), np.uint8), np.zeros(64, np.float32)
quantize_matmul_4bits(
    packed, np.eye(64, 32, dtype=np.float32), scales, np.zeros(32, np.uint8), 32, 32, 64, True
)
print(packed.any() and scales.any())
from onnxruntime.tools.convert_onnx_models_to_ort import OptimizationStyle
from onnxruntime.tools.convert_onnx_models_to_ort import convert_onnx_models_to_ort
os.mkdir("ort")
convert_onnx_models_to_ort(
    Path("m.onnx"), Path("ort"), optimization_styles=[OptimizationStyle.Fixed]
)
answer("ort/m.ort")
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema, schemadef
schemas = get_all_operator_schema()
print(len(schemas) > 100, isinstance(schemas[0], schemadef.OpSchema))
import onnxruntime.backend
print(float(onnxruntime.backend.prepare("m.onnx", "CPU").run([x["x"]])[0][0, 0]))
"""
    lines = [
        line.split(" surplus.")[0]
        for line in printed(script, tmp_path)
        if "True" in line or " surplus." in line
    ]
    assert lines == [*["128.0"] * 4, "True", "128.0", "True True"]


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


def test_objects_are_known_by_onnxruntimes_names(tmp_path: Path) -> None:
    script = """
import onnxruntime, pickle
from onnxruntime.capi import onnxruntime_pybind11_state as state
from onnxruntime.datasets import get_example
session = onnxruntime.InferenceSession(get_example("sigmoid.onnx"))
value = onnxruntime.OrtValue.ortvalue_from_shape_and_type([1], 1)
for each in (session, session._sess, session.io_binding(), session.io_binding()._iobinding, value,
             session.get_inputs()[0], session.get_session_options(), onnxruntime.RunOptions()):
    print(type(each).__module__, type(each).__qualname__)
try:
    session.run(["nothing"], {})
except ValueError as error:
    print(error)
try:
    onnxruntime.InferenceSession("nowhere")
except state.NoSuchFile as error:
    print(type(error).__module__, type(pickle.loads(pickle.dumps(error))) is state.NoSuchFile)
"""
    ours = printed(script, tmp_path)
    theirs = subprocess.run(
        [sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [line for line in theirs.stdout.splitlines() if "*" not in line] == ours


def test_a_session_class_of_a_programs_own_is_pickled(tmp_path: Path) -> None:
    script = """
import copy, multiprocessing, pickle
import numpy as np, onnxruntime
from onnxruntime.datasets import get_example

class Kept(onnxruntime.InferenceSession):
    def __init__(self, path, **options):
        super().__init__(path, **options)
        self.path = path

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.__init__(state["path"])

def ask(session):
    return session.run(None, {"x": np.ones((3, 4, 5), np.float32)})[0].sum() > 0

if __name__ == "__main__":
    session = Kept(get_example("sigmoid.onnx"), providers=["CPUExecutionProvider"])
    print(ask(pickle.loads(pickle.dumps(session))), ask(copy.deepcopy(session)))
    for way in ("spawn", "fork"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            print(pool.apply(ask, (session,)))
"""
    assert printed(script, tmp_path) == ["True True", "True", "True"]
