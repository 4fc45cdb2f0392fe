"""``engine convert`` where torch is missing or must not be reached."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from surplus.engine.cli.main import main

INPUT = ("--input", "x:2x4:float32")


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def _call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    try:
        status = main(["convert", *words])
    except SystemExit as stop:
        status = int(stop.code or 0)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return status, err


@pytest.mark.usefixtures("no_torch")
def test_torch_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, err = _call(capsys, "nets:make", *INPUT, "-o", str(tmp_path / "net.onnx"))
    assert status == 1
    assert "needs torch" in err
    assert "pip install 'surplus-engine[convert]'" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nets:make", "--input", "x:2x4"], 1, "expected NAME:SHAPE:DTYPE"),
        (["nets:make", *INPUT, "--range", "y=0:1"], 1, "no --input y; there are: x"),
        (["nets", *INPUT], 1, "expected package.module:factory"),
        (["nets:make", *INPUT, "--opset", "3"], 1, "opset must be in 7.."),
        (["nets:make", *INPUT, "--seeds", "-1"], 1, "seeds must be >= 0"),
        (["nets:make", *INPUT, "--inputs", "no.npz"], 1, "inputs no.npz: No such file"),
        (["nets:make", *INPUT, "--rtol", "-1"], 1, "rtol must be finite and >= 0"),
        (["nets:make", *INPUT, "--output-names", "x"], 1, "'x' names two"),
        (["nets:make", *INPUT, "--exporter", "magic"], 2, "invalid choice: 'magic'"),
    ],
)
def test_wrong_usage_is_found_before_torch(
    words: list[str],
    status: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, err = _call(capsys, *words, "-o", str(tmp_path / "net.onnx"))
    assert found == status
    assert message in err


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("name", ["no/net.onnx", "taken.onnx", "other.onnx"])
def test_outputs_are_checked_before_any_work(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken.onnx").mkdir()
    (tmp_path / "other.npz").mkdir()
    status, err = _call(capsys, "nets:make", *INPUT, "-o", str(tmp_path / name))
    assert status == 1
    assert str(tmp_path / name.removesuffix(".onnx")) in err
    assert "torch" not in err.replace(str(tmp_path), "")


def test_nothing_but_the_conversion_imports_torch() -> None:
    code = (
        "import sys, surplus.engine.cli.main, surplus.engine.convert.from_torch,"
        " surplus.engine.convert.torch_source;"
        " sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
