"""The live bench's own figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.colocation_live import FOLDER as SCENARIOS
from bench.colocation_live import Bystanders, _ratio
from colocation.live_file import read_to_measure


def test_what_others_do_is_one() -> None:
    watch = Bystanders()
    work = "sum(k * k for k in range(3_000_000))"
    with watch.watched():
        subprocess.run([sys.executable, "-c", work], check=True)
    assert 0 < watch.share <= 1


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio"), [(3, 2, 1.5), (None, None, 1.0), (None, 2, float("inf"))]
)
def test_ratios(ours: int | None, theirs: int | None, ratio: float) -> None:
    assert _ratio(ours, theirs) == ratio


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_live_scenario_can_be_measured(path: Path) -> None:
    asked = read_to_measure(path)
    assert asked.path is not None
    assert asked.path.name == f"{path.stem}.profile.json"
    assert all(
        batch[-1] == most for batch, most in zip(asked.batches, asked.most_items, strict=True)
    )
