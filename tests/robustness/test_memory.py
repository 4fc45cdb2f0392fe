"""Memory stays flat over many queries, and many segments hold little more than one session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.engine.planning.stages import read_model
from tests.device_lists import with_wanted

PROBE = Path(__file__).with_name("memory_probe.py")
STEADY_GROWTH = 1.02
SEGMENTS = 50
SEGMENTS_RATIO = 1.2


def probe(folder: Path, name: str, what: object, devices: str, **params: Any) -> tuple[int, int]:
    """What the probe prints for a model, in bytes."""
    path, inputs = folder / f"{name}.onnx", folder / f"{name}.npz"
    if not path.exists():
        models.save(models.build(name, **params), path)
        np.savez(inputs, **models.example_inputs(name, **params))
        read_model(path, folder / "cache")  # optimising a model leaves memory behind
    command = [sys.executable, str(PROBE), str(path), str(inputs), str(what), devices]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = json.loads(done.stdout)
    return first, second


@pytest.mark.parametrize("devices", with_wanted("cpu:2", "cpu:1,emulated:gpu"))
def test_flat_over_many_queries(devices: str, tmp_path: Path) -> None:
    warm, end = probe(tmp_path, "diamonds", "steady", devices, count=2, size=4096)
    assert end < warm * STEADY_GROWTH


def test_many_segments_hold_what_one_session_holds(tmp_path: Path) -> None:
    params = {"image_size": 96, "classes": 1000}
    sizes = []
    for segments in (1, SEGMENTS):
        before, after = probe(tmp_path, "resnet50", segments, "cpu:2", **params)
        sizes.append(after - before)
    assert sizes[1] <= sizes[0] * SEGMENTS_RATIO
