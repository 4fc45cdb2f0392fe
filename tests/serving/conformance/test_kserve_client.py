"""KServe's client against every way to start our server; skipped where `make peers` was not run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serving.conformance.servers import SERVERS

_PYTHON = Path("build/peers/bin/python")
_PROGRAM = Path(__file__).with_name("kserve_program.py")
_VALUES = {
    "FP32": [0.5, -1.5, 3.25],
    "FP16": [0.5, -1.5, 3.25],
    "INT64": [-(2**62), 0, 7],
    "UINT8": [0, 255],
    "BOOL": [True, False],
    "BYTES": ["one", "", "zwölf".encode().decode("latin-1")],
}


@pytest.fixture(scope="module", params=SERVERS)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not _PYTHON.exists():
        pytest.skip("KServe's client is not here: make peers")
    with SERVERS[request.param](tmp_path_factory.mktemp("kserve")) as addresses:
        command = [_PYTHON, _PROGRAM, addresses.grpc, addresses.http]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("face", ["grpc", "rest"])
def test_health(said: Any, face: str) -> None:
    assert [said[face][asked] for asked in ("live", "ready", "model ready")] == [True] * 3


@pytest.mark.parametrize("face", ["grpc", "rest"])
@pytest.mark.parametrize("datatype", _VALUES)
def test_answers_what_was_sent(said: Any, face: str, datatype: str) -> None:
    answers = {
        asked: answer for asked, answer in said[face].items() if asked.split()[0] == datatype
    }
    assert len(answers) == (1 if datatype == "FP16" else 2)  # binary, and as numbers
    assert all(
        answer == [f"id-{datatype}", datatype, _VALUES[datatype]] for answer in answers.values()
    ), answers


@pytest.mark.parametrize("face", ["grpc", "rest"])
def test_unknown_model(said: Any, face: str) -> None:
    assert "nobody" in said[face]["unknown"]
