"""The example of docs/CLUSTER.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/CLUSTER.md"


def printed(example: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    codes = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(codes[example], str(PAGE), "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_the_example_of_plans_runs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = printed(0, capsys)
    nodes, replicas = (int(word) for word in re.findall(r"\d+", first))
    assert 1 <= nodes <= 5
    assert replicas >= 20
    assert 1 <= int(second.split()[0]) <= 4


def test_the_example_of_failures_runs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = printed(1, capsys)
    in_time, queries = (int(word) for word in re.findall(r"\d+", first))
    assert in_time == queries > 1500
    assert 1 <= int(second.split()[0]) <= 10


def test_every_planner_is_described() -> None:
    from surplus.cluster import CLUSTER_PLANNERS

    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert rows == set(CLUSTER_PLANNERS.names())
