"""Models of operators that ONNX Runtime does not bring along: by file, by name, by configuration.

Each in a process of its own where operators are added: the process has them from then on.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from surplus.engine.custom_operators import EXTENSIONS, library_of
from surplus.engine.errors import ConfigError
from tests.isolation.served import served

pytest.importorskip("onnxruntime_extensions")
image = pytest.importorskip("PIL.Image")

DECODE = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft.extensions" : 1]>
decode (uint8[bytes] JPEG) => (float[height, width, channels] IMAGE)
{ pixels = com.microsoft.extensions.DecodeImage(JPEG)  IMAGE = Cast<to = 1>(pixels) }
"""
MEAN = """
<ir_version: 8, opset_import: ["" : 13]>
mean (float[height, width, channels] x) => (float[one, other, channels] y)
{ y = ReduceMean<axes = [0, 1]>(x) }
"""
IN_PYTHON = """
import sys, json, numpy as np, surplus
model = surplus.load(sys.argv[1], devices="cpu:1", cache=sys.argv[3],
                     custom_operators=[sys.argv[4]])
jpeg = np.fromfile(sys.argv[2], np.uint8)
print(json.dumps(model.run({"JPEG": jpeg})["IMAGE"].mean(axis=(0, 1)).tolist()))
"""


@pytest.fixture(scope="module")
def jpeg() -> bytes:
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:, :, 0], pixels[:24, :, 2] = 200, 100
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "JPEG", quality=95)
    return file.getvalue()


def colours(jpeg: bytes) -> np.ndarray:
    """Of the whole image; the operator gives blue first, as OpenCV does."""
    return np.asarray(image.open(io.BytesIO(jpeg)), np.float32).mean(axis=(0, 1))[::-1]


@pytest.fixture
def decode(tmp_path: Path, jpeg: bytes) -> Path:
    path = tmp_path / "decode.onnx"
    onnx.save(onnx.parser.parse_model(DECODE), path)
    np.savez(tmp_path / "decode.npz", JPEG=np.frombuffer(jpeg, np.uint8))
    (tmp_path / "image.jpg").write_bytes(jpeg)
    return path


def engine(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surplus.engine.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("name", ["onnxruntime_extensions", "file"])
def test_a_program_names_the_library(decode: Path, jpeg: bytes, name: str) -> None:
    library = library_of(EXTENSIONS) if name == "file" else name
    words = [decode, decode.with_name("image.jpg"), decode.with_name("cache"), library]
    done = subprocess.run(
        [sys.executable, "-c", IN_PYTHON, *map(str, words)], capture_output=True, check=True
    )
    expected = colours(jpeg)
    np.testing.assert_allclose(json.loads(done.stdout), expected, atol=1)


def test_the_command_line_names_it_and_says_who_lacks_it(decode: Path) -> None:
    cache = decode.with_name("cache")
    common = ("--devices", "cpu:1", "--cache", cache)
    done = engine("run", decode, "--custom-operators", "onnxruntime-extensions", *common)
    assert done.returncode == 0, done.stderr
    done = engine("run", decode, *common)
    assert done.returncode != 0, "what is kept of a model is not used without its operators"
    assert "DecodeImage" in done.stderr
    assert "--custom-operators names the library" in done.stderr


def test_what_is_no_library_is_refused(decode: Path) -> None:
    done = engine("run", decode, "--custom-operators", decode)
    assert done.returncode != 0
    assert f"custom operators: {decode}: " in done.stderr
    with pytest.raises(ConfigError, match="no file; give a library, or onnxruntime-extensions"):
        library_of("nothing.so")


def write_repository(root: Path, jpeg: bytes) -> Path:
    """An ensemble of a step whose configuration names the library, and of one without."""
    for name, text in (("decode", DECODE), ("mean", MEAN)):
        (root / name / "1").mkdir(parents=True)
        onnx.save(onnx.parser.parse_model(text), root / name / "1" / "model.onnx")
    (root / "decode" / "config.pbtxt").write_text(
        'model_operations { op_library_filename: "onnxruntime-extensions" }\n'
    )
    (root / "colours" / "warmup").mkdir(parents=True)
    (root / "colours" / "warmup" / "photo").write_bytes(jpeg)
    (root / "colours" / "config.pbtxt").write_text(COLOURS.replace("BYTES", str(len(jpeg))))
    return root


COLOURS = """
platform: "ensemble"
input [ { name: "FILE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "COLOURS" data_type: TYPE_FP32 dims: [ -1, -1, -1 ] } ]
ensemble_scheduling { step [
  { model_name: "decode" input_map { key: "JPEG" value: "FILE" }
    output_map { key: "IMAGE" value: "image" } },
  { model_name: "mean" input_map { key: "x" value: "image" }
    output_map { key: "y" value: "COLOURS" } } ] }
model_warmup { name: "a photo" inputs { key: "FILE" value {
  data_type: TYPE_UINT8 dims: [ BYTES ] input_data_file: "photo" } } }
"""


@pytest.mark.parametrize("options", [(), ("--isolate",), ("--model-memory", "1GiB")])
def test_an_ensemble_is_served_from_jpeg_on(
    tmp_path: Path, jpeg: bytes, options: tuple[str, ...]
) -> None:
    with served(write_repository(tmp_path / "models", jpeg), *options) as server:
        client = server.client()
        given = triton.InferInput("FILE", [len(jpeg)], "UINT8")
        given.set_data_from_numpy(np.frombuffer(jpeg, np.uint8))
        for _ in range(2):
            found = client.infer("colours", [given]).as_numpy("COLOURS")
            np.testing.assert_allclose(found.reshape(3), colours(jpeg), atol=1)
        config = client.get_model_config("colours", as_json=True)["config"]
        if "--model-memory" not in options:
            assert config["parameters"]["ensemble"]["string_value"] == "one plan of 2 steps"
        broken = triton.InferInput("FILE", [9], "UINT8")
        broken.set_data_from_numpy(np.zeros(9, np.uint8))
        with pytest.raises(InferenceServerException, match="Failed to decode image"):
            client.infer("colours", [broken])
        assert client.infer("colours", [given]).as_numpy("COLOURS") is not None
