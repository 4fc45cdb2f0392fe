"""The predicted makespan of plans against the measured one, every model.

A plan's prediction is what the engine stores with it: the simulator on service times and hand-overs
of its segments, measured in place. Rounds alternate between feeding the prediction and measuring
what is compared with it, so both see the same machine and no query counts for both. Of every model
the best one-segment plan is shown, and the best predicted plan of several segments.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

import models
from bench import result_file
from bench.built_models import FOLDER, built
from engine.pipeline.stages import (
    Costs,
    candidates,
    costs_of,
    example_inputs,
    measure,
    place,
    plan_of,
    read_model,
)
from engine.profiling.devices import parse_devices
from engine.runtime.contest import Contest, ContestParams, Turn
from engine.runtime.in_place import refit
from engine.runtime.machines import machine_for
from engine.runtime.model import Model
from engine.runtime.selection import ModelContender
from engine.segmentation.segmenter import Candidate

ROUNDS = 14


def rows(name: str, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """The best plan of several segments, and the best of one."""
    path, _ = built(name)
    graph = read_model(path, FOLDER / "cache")
    specs = parse_devices(f"cpu:{len(os.sched_getaffinity(0))}")
    inputs = example_inputs(graph, path)
    costs = costs_of(graph, measure(graph, specs, inputs, FOLDER / "cache"), specs)
    ranked = candidates(costs, place(costs.problem, "comm_sd"))
    chosen = [
        next(c for c in ranked if c.is_trivial),
        *[c for c in ranked if not c.is_trivial][:1],
    ]
    built_models = [
        Model(graph, plan_of(graph, costs, c, "comm_sd"), machine_for(specs)) for c in chosen
    ]
    params = ContestParams(least_rounds=rounds, most_rounds=rounds)
    contenders = [ModelContender(model, inputs) for model in built_models]
    contest = Contest(contenders, len(contenders), params, time.perf_counter_ns)
    contest.play(deadline_ns=0)
    return [
        _row(name, candidate, model, costs, contest.turns(index))
        for index, (candidate, model) in enumerate(zip(chosen, built_models, strict=True))
    ]


def _row(
    name: str, candidate: Candidate, model: Model, costs: Costs, turns: list[Turn]
) -> dict[str, Any]:
    plan = refit(model.plan, candidate.graph, costs.service, turns[::2])
    predicted_ns = plan.predicted.makespan_ns
    measured_ns = statistics.median(turn.wall_ns for turn in turns[1::2] or turns)
    return {
        "model": name,
        "plan": candidate.name,
        "segments": len(candidate.graph.groups),
        "predicted ms": predicted_ns / 1e6,
        "measured ms": measured_ns / 1e6,
        "predicted / measured": predicted_ns / measured_ns,
        "from the profile alone": candidate.predicted.makespan_ns / measured_ns,
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and 95th percentile of the errors, in the columns of a row."""
    errors = sorted(abs(row["predicted / measured"] - 1) for row in found)
    worst = errors[min(len(errors) - 1, int(len(errors) * 0.95))]
    return {"median error": statistics.median(errors), "95th percentile": worst}


def main() -> None:
    """Run and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models (default: all)")
    args = parser.parse_args()
    found = [row for name in args.names or models.model_names() for row in rows(name)]
    result_file.show("Predicted against measured makespan, all cores", found)
    print(summary(found))
    if not args.names:
        result_file.write("prediction", {"rounds": ROUNDS, **summary(found)}, found)


if __name__ == "__main__":
    main()
