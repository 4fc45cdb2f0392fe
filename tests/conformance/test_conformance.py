"""The official ONNX conformance suite: the engine passes exactly what ONNX Runtime passes.

Every process of these tests admits operator sets that are not released yet, which adds cases.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device_lists import with_wanted

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / "build" / "conformance"
FEWEST_PASSING = 1_500
"""Passing at least this many shows that both sides ran; ONNX Runtime 1.31 passes more."""

PLACEMENTS = [
    ("cpu:2", "whole"),
    ("cpu:2", "1"),
    ("cpu:1,emulated:gpu", "2"),
    *((devices, "5") for devices in with_wanted("cpu:2")[1:]),
    pytest.param("cpu:1,emulated:gpu:2", "3", marks=pytest.mark.slow),
    pytest.param("cpu:2,emulated:gpu,emulated:npu", "4", marks=pytest.mark.slow),
]


def run(script: str, *arguments: object) -> None:
    """One of this folder's scripts in a process of its own."""
    environment = {**os.environ, "ALLOW_RELEASED_ONNX_OPSET_ONLY": "0"}
    command = [sys.executable, "-m", f"tests.conformance.{script}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{script}: exit {done.returncode}: {done.stderr[-2000:]}"


def kept(script: str, *arguments: object) -> Path:
    """What a script makes, from an earlier session with the same packages if there was one."""
    packages = [importlib.metadata.version(name) for name in ("onnx", "onnxruntime", "numpy")]
    sources = [(HERE / name).read_text() for name in ("cases.py", f"{script}.py")]
    key = hashlib.sha256(repr((packages, sources)).encode()).hexdigest()[:16]
    path = KEPT / f"{script}-{key}"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        run(script, *arguments, unfinished)
        unfinished.replace(path)
    return path


@pytest.fixture(scope="session")
def cases() -> Path:
    return kept("cases")


@pytest.fixture(scope="session")
def expected(cases: Path) -> dict[str, str]:
    return dict(json.loads(kept("oracle", cases).read_text()))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(("devices", "how"), PLACEMENTS)
def test_passes_exactly_what_onnxruntime_passes(
    devices: str, how: str, cases: Path, expected: dict[str, str], cache: Path, tmp_path: Path
) -> None:
    out = tmp_path / "outcomes"
    run("engine", cases, out, devices, how, cache)
    found = dict(json.loads(line) for line in out.read_text().splitlines())
    assert found.keys() == expected.keys()
    lost = {name: found[name] for name in found if found[name] and not expected[name]}
    gained = {name: expected[name] for name in found if expected[name] and not found[name]}
    assert (lost, gained) == ({}, {})
    assert sum(not failure for failure in found.values()) > FEWEST_PASSING
