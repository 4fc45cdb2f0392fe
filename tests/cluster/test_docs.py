"""The example of docs/CLUSTER.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/CLUSTER.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    nodes, replicas = (int(word) for word in re.findall(r"\d+", first))
    assert 1 <= nodes <= 5
    assert replicas >= 20
    assert 1 <= int(second.split()[0]) <= 4


def test_every_planner_is_described() -> None:
    from surplus.cluster import CLUSTER_PLANNERS

    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert rows == set(CLUSTER_PLANNERS.names())
