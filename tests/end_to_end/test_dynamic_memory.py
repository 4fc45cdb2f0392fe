"""Memory stays flat over 2,000 queries whose sizes change, near what the largest alone takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from surplus.engine.planning.stages import read_model
from tests.end_to_end.dynamic_models import DYNAMIC

PROBE = Path(__file__).with_name("dynamic_memory_probe.py")
GROWTH_BYTES = 4 << 20
"""Of the whole process between a few queries and 2,000 more: 2 kB kept of each would be seen."""

OTHER_SIZES_BYTES = 10 << 20
"""What the smaller sizes may add to the largest one: blocks of the heaps of lanes and callers."""


@pytest.mark.parametrize(
    ("kind", "plan", "devices"),
    [
        ("detector", "every task", "cpu:1,emulated:gpu"),
        ("transformer", "every task", "cpu:2"),
        ("transformer", "whole", "cpu:2"),
    ],
)
def test_flat_over_changing_sizes(kind: str, plan: str, devices: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.onnx"
    onnx.save(DYNAMIC[kind].build(), path)
    read_model(path, tmp_path / "cache")  # optimising a model leaves memory behind
    command = [sys.executable, str(PROBE), str(path), kind, plan, devices]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    largest, warm, end, live = json.loads(done.stdout)
    assert live == 0
    assert end < warm + GROWTH_BYTES
    assert end < largest + OTHER_SIZES_BYTES
