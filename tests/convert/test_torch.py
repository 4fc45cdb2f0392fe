"""``engine convert`` with torch itself; skipped where that is not installed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import surplus
from surplus.engine.cli.main import main

pytest.importorskip("torch")
pytest.importorskip("onnxscript")

HERE = Path(__file__).parent


class Convert:
    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd = folder, capfd

    def __call__(self, target: str, *words: str) -> tuple[int, str, str]:
        self.capfd.readouterr()
        shared = ["--path", str(HERE), "-o", str(self.folder / "net.onnx"), "--json"]
        cache = ["--cache", str(self.folder / "cache")]
        status = main(["convert", f"torch_nets:{target}", *words, *shared, *cache])
        return (status, *self.capfd.readouterr())

    def files(self) -> list[str]:
        return sorted(file.name for file in self.folder.iterdir() if file.is_file())


@pytest.fixture
def convert(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Convert:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Convert(tmp_path, capfd)


def test_cnn_runs_in_the_engine(convert: Convert, tmp_path: Path) -> None:
    status, out, err = convert("Cnn", "--input", "image:batchx3x8x8:float32")
    made = json.loads(out)
    assert status == 0, err
    assert made["exporter"] == "dynamo"
    assert made["inspect"]["inputs"] == {"image": "float32[batch, 3, 8, 8]"}
    assert list(made["inspect"]["outputs"]) == ["logits", "mean"]
    assert "BatchNormalization" not in made["inspect"]["operators"]
    assert set(err.split("\n")) == {"the module prints", ""}
    assert convert.files() == ["net.npz", "net.onnx"]
    image = np.ones((3, 3, 8, 8), np.float32)
    answers = surplus.load(tmp_path / "net.onnx").run({"image": image})
    assert answers["logits"].shape == (3, 5)
    np.testing.assert_allclose(answers["mean"], np.ones((3, 3)), rtol=1e-6)


def test_transformer_of_any_length(convert: Convert) -> None:
    tokens, mask = "tokens:batchxtime=5:int64", "mask:batchxtime:float32"
    status, out, err = convert(
        "Tagger", "--input", tokens, "--input", mask, "--range", "tokens=0:50"
    )
    assert status == 0, err
    made = json.loads(out)
    assert made["checked"][3:] == [
        "seed 3, batch=3, time=5", "seed 3, batch=1, time=5",
        "seed 3, batch=2, time=6", "seed 3, batch=2, time=1",
    ]  # fmt: skip
    assert made["largest_difference"] < 1e-4


def test_a_length_that_one_exporter_freezes(convert: Convert) -> None:
    status, out, err = convert("Recurrent", "--input", "x:2xtime=5x4:float32")
    assert status == 0, err
    made = json.loads(out)
    assert made["checked"][3:] == ["seed 3, time=6", "seed 3, time=1"]
    assert made["inspect"]["inputs"] == {"x": "float32[2, time, 4]"}


def test_scripted_control_flow_takes_the_other_exporter(convert: Convert) -> None:
    status, out, err = convert("scripted", "--input", "x:nx4:float32")
    assert status == 0, err
    made = json.loads(out)
    assert made["exporter"] == "torchscript"
    assert made["notes"][0].startswith("dynamo could not: ")
    assert made["inspect"]["control_flow"] == 1


def test_an_older_opset(convert: Convert) -> None:
    status, out, _ = convert("linear", "--input", "x:nx4:float32", "--opset", "17")
    assert (status, json.loads(out)["opset"]) == (0, 17)


@pytest.mark.parametrize(
    ("target", "inputs", "message"),
    [
        ("Decides", ["x:2x4:float32"], "forward decides by the data at torch_nets.py:"),
        ("Eigen", ["x:2x4:float32"], "operator aten::_linalg_eigh has no ONNX form"),
        ("linear", ["x:nx5:float32"], "forward, given x float32[2, 5], fails: RuntimeError"),
        ("linear", [], "does not take 0 --input: missing a required argument: 'input'"),
        ("linear", ["x:4:float32", "y:4:float32"], "does not take 2 --input"),
        ("Cnn.forward", ["x:4:float32"], "torch_nets:Cnn.forward: fails"),
        ("nothing", ["x:4:float32"], "module torch_nets has no 'nothing'"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    convert: Convert,
    target: str,
    inputs: list[str],
    message: str,
) -> None:
    words = [word for text in inputs for word in ("--input", text)]
    status, out, err = convert(target, *words)
    assert (status, out) == (1, "")
    assert err.startswith("engine convert: ")
    assert message in err
    assert err.count("\n") == 1
    assert convert.files() == []
