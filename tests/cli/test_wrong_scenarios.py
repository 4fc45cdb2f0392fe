"""Every value of a scenario replaced by a wrong one: a clear line, or a run, and never a crash."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.cli.main import main
from tests.cli.calls import Called

SCENARIO = """
duration_s = 0.2
drain_s = 1
seed = 3
policies = ["edf_drop", "dstack"]
[[device]]
name = "g"
memory_bytes = 1000
lanes = 2
[[service]]
name = "a"
slo_ms = 60
max_batch = 4
operators = 3
max_queue = 20
memory_bytes = 10
items = [1, 2]
sequences = [0, 8]
profile = { kind = "affine", fixed_ns = 1000000, per_item_ns = 10000, deviation = 0.1 }
load = { kind = "bursty", rate_per_s = 40, peak = 2, burst_s = 1, calm_s = 1 }
[[service]]
name = "b"
slo_ms = 60
profile = { kind = "analytic", parallelism = 40, unit_ns = 1000 }
load = { kind = "steps", rates_per_s = [10, 40], step_s = 0.1 }
[truth]
noise = { kind = "lognormal", spread = 0.1 }
overlap = 0.2
spawn_us = 10
interference = { kind = "pairwise", default = 0.1, extra = { a = { b = 0.2 } } }
[[change]]
at_s = 0.1
device = "g"
state = "lost"
[reorganise]
period_s = 0.1
takes_s = 0.1
[policy_options.edf_drop]
drop = true
predictor = { margin = 0.1 }
"""
WRONG: tuple[Any, ...] = (-1, 10**30, 1e300, float("nan"), "x", True, [], [{}], {"a": 1})


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Keys and indices that lead to each value of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, own in inner:
        yield (*place, key)
        if isinstance(own, dict | list):
            yield from places(own, (*place, key))


def written(value: Any) -> str:
    if isinstance(value, dict):
        rows = (f"{json.dumps(key)} = {written(own)}" for key, own in value.items())
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value).replace("NaN", "nan")


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_wrong_value_is_a_clear_line_or_a_run(
    wrong: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tomllib.loads(SCENARIO)
    path = tmp_path / "s.toml"
    refused = 0
    for place in places(document):
        changed = deepcopy(document)
        parent = changed
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = wrong
        rows = (f"{key} = {written(value)}" for key, value in changed.items())
        path.write_text("\n".join(rows))
        called = Called(main(["simulate", str(path), "--json"]), *capsys.readouterr())
        assert called.status == 0 or called.is_one_clear_line(), (place, wrong, called)
        refused += called.status
    assert refused > 20
