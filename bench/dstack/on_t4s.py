"""Four models on emulated T4s, live, in a process of its own, asked by lines of JSON.

``python -m bench.dstack.on_t4s GPUS``: of as many GPUs, with as many fourths of the load.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from surplus.colocation import RunSummary, Scenario, read_scenario
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.scenarios.live_file import read_to_measure
from surplus.engine.scheduling.measure import GroupMeasureParams
from surplus.engine.scheduling.replay import backend_of, compare_live, measure_scenario

SCENARIO = Path(__file__).parents[1] / "configs" / "colocation" / "dstack" / "four_t4s.toml"
CACHE = Path(__file__).parents[2] / "build" / "models" / "cache"


def on(gpus: int) -> Scenario:
    """The scenario on some of its GPUs, each with its part of the load."""
    whole = read_scenario(SCENARIO)
    assert whole.live is not None, "it is served live"
    names = whole.live.devices.split(",emulated")
    live = replace(whole.live, devices=",emulated".join(names[:gpus]))
    scaled = whole.scaled(gpus / len(whole.devices))
    return replace(scaled, devices=whole.devices[:gpus], live=live)


def traced(scenario: Scenario, seconds: float, seed: int) -> Scenario:
    """The scenario with a trace of its own, of so many seconds."""
    return replace(scenario, seed=seed, duration_ns=round(seconds * NS_PER_S))


def figures(summary: RunSummary) -> dict[str, Any]:
    """Of a run, what adds up over processes."""
    return {
        "by_service": [[one.offered, one.in_time] for one in summary.services],
        "decision_ns": summary.decision_mean_ns,
    }


def measure(rounds: int) -> None:
    """Measure what a T4 is charged for each model, batch and share, and keep it."""
    asked = read_to_measure(SCENARIO)
    assert asked.path is not None, "its services read measured profiles"
    found = measure_scenario(asked, GroupMeasureParams(rounds), CACHE, print)
    asked.path.write_text(found.to_json(), encoding="utf-8")


def main() -> None:
    """Load the models, say so, and serve a trace for each line."""
    scenario = on(int(sys.argv[1]))
    backend = backend_of(scenario, CACHE)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        own = traced(scenario, asked["seconds"], asked["seed"])
        _, (live,) = compare_live(own, [asked["policy"]], backend)
        print(json.dumps(figures(live.summary)), flush=True)


if __name__ == "__main__":
    main()
