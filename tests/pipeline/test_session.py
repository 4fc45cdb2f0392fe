"""The session with ONNX Runtime's face, beside ONNX Runtime's own."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from surplus import InferenceSession, models
from surplus.engine.errors import ConfigError, InputError

TYPED = """<ir_version: 9, opset_import: ["" : 18]>
typed (float[n, 3] x, int64[2, m, ?] i, bool[] flag, string[1] text, float16[k] half,
       seq(float[2]) many, double[n] scale)
=> (float[n, 3] y, int64[2, m, q] j, string[1] said, float16[k] same, float[2] first, bool[] f)
<double[1] scale = {1.0}>
{
    y = Relu(x)
    j = Neg(i)
    f = Not(flag)
    said = Identity(text)
    same = Abs(half)
    zero = Constant<value_int = 0>()
    first = SequenceAt(many, zero)
    unused = Abs(scale)
}"""


FEEDS = {
    "x": np.array([[1, -1, 2]], np.float32),
    "i": np.arange(8).reshape(2, 2, 2),
    "flag": np.array(True),
    "text": np.array(["word"], object),
    "half": np.array([-1, 2], np.float16),
    "many": [np.array([3, 4], np.float32)],
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "typed.onnx"
    onnx.save(onnx.parser.parse_model(TYPED), path)
    return path


@pytest.fixture(scope="module")
def both(
    typed: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[InferenceSession, onnxruntime.InferenceSession]:
    cache = tmp_path_factory.mktemp("cache")
    providers = ["CPUExecutionProvider"]
    ours = InferenceSession(typed, None, providers, devices="cpu:1", cache=cache, inputs=FEEDS)
    return ours, onnxruntime.InferenceSession(typed, providers=providers)


@pytest.mark.parametrize("of", ["get_inputs", "get_outputs", "get_overridable_initializers"])
def test_signatures_are_those_of_onnxruntime(both, of: str) -> None:
    ours, theirs = ([(a.name, a.type, a.shape) for a in getattr(s, of)()] for s in both)
    assert ours == theirs


@pytest.mark.parametrize("names", [None, [], ["said", "y"], ["first"]])
def test_answers_are_those_of_onnxruntime(both, names: list[str] | None) -> None:
    ours, theirs = (session.run(names, FEEDS) for session in both)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.dtype, a.tolist()) == (b.dtype, b.tolist())


def test_wrong_feeds_are_value_errors_that_name_the_input(both) -> None:
    with pytest.raises(InputError, match="unknown input 'z'"):
        both[0].run(None, {"z": np.zeros(1)})
    with pytest.raises(InputError, match="input 'x' is missing"):
        both[0].run(None, {})
    with pytest.raises(InputError, match="unknown output 'z'"):
        both[0].run(["z"], {})


def test_what_it_does_not_read_is_said(typed: Path, both, caplog, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="write a file"):
        InferenceSession(typed.read_bytes())
    with pytest.raises(ConfigError, match="CUDAExecutionProvider"):
        InferenceSession(typed, providers=[("CUDAExecutionProvider", {})])
    with pytest.raises(ConfigError, match="run_options"):
        both[0].run(None, {}, onnxruntime.RunOptions())
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    options = onnxruntime.SessionOptions()
    InferenceSession(path, options, devices="cpu:1", cache=tmp_path / "cache")
    assert "sess_options" in caplog.text
