"""A damaged cache is made again: no answer is wrong, no process ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models


def fuzzed(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.safety.fuzz_cache", *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_random_damage() -> None:
    assert fuzzed("--count", "40", "--seed", "3") == {"seed": 3, "right": 40}


@pytest.mark.slow
def test_much_random_damage() -> None:
    assert fuzzed("--count", "1000", "--seed", "4") == {"seed": 4, "right": 1000}


def zeroed(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(bytes(200_000))


def truncated(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size // 2)


@pytest.mark.parametrize("harm", [zeroed, truncated])
@pytest.mark.parametrize("pattern", ["weight-*.bin", "weights.bin", "*.laid.onnx", "model.onnx"])
def test_what_sessions_map_is_proven(
    tmp_path: Path, pattern: str, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    name, sizes = "fork_join", {"branches": 2, "depth": 2, "size": 700, "kind": "matmul"}
    path = models.save(models.build(name, **sizes), tmp_path / "model.onnx")
    inputs = dict(models.example_inputs(name, **sizes))

    def answer() -> dict[str, Any]:
        options: dict[str, Any] = {"selection_s": 0, "cache": tmp_path / "cache"}
        return surplus.load(path, "cpu:1", inputs=inputs, **options).run(inputs)

    right = answer()
    largest, *_ = sorted((tmp_path / "cache").rglob(pattern), key=lambda f: -f.stat().st_size)
    content = largest.read_bytes()
    largest.chmod(0o600)
    harm(largest)
    found = answer()
    assert all(np.array_equal(found[name], right[name]) for name in right)
    assert "is made again" in caplog.text
    assert len(largest.read_bytes()) == len(content)


def test_nothing_of_the_cache_is_for_others(tmp_path: Path) -> None:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    surplus.load(path, "cpu:1", cache=tmp_path / "cache", selection_s=0)
    cache = tmp_path / "cache"
    assert [p for p in (cache, *cache.rglob("*")) if p.stat().st_mode & 0o077] == []
