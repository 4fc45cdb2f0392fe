"""Every model on all cores against ONNX Runtime at its best, and against OpenVINO.

ONNX Runtime's best of one and all intra-op threads, and, where the model is wide, of parallel mode
with and without a partition file; OpenVINO with its hint LATENCY. Beside it the physical limit,
half the time of one thread, and the predicted makespan, which is compared with queries right after
the tuning: contenders take longer to compare than this kind of machine keeps its speed. Models of
less than 10 ms run at least 300 times each, for their p99.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping

import surplus
from bench.infrastructure import peer
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.timing import RUNS_FOR_P99, SHORT_NS, Times, block_for_p99_ns, interleaved
from bench.models.model_table import ALL, add_options, run_table

BUDGET_S = 30.0
ROUNDS = 25
TUNE_S = 10.0

OPENVINO = "openvino"

_SOON_S = 1.0
"""For how long queries are asked after the tuning, for the prediction."""

_WIDE_PLANS = 3
"""Segments from which a plan says that the model has branches."""


def row(
    name: str, rounds: int = ROUNDS, tune_s: float = TUNE_S, budget_s: float = BUDGET_S
) -> dict[str, object]:
    """Measure one model for about ``budget_s`` seconds, after tuning it."""
    cores = len(os.sched_getaffinity(0))
    path, inputs = built(name)
    asked = {"cache": FOLDER / "cache", "kernels": "auto", "inputs": inputs}
    model = surplus.load(path, devices=f"cpu:{cores}", tune_s=tune_s, **asked)
    soon_ns = _median_ns(lambda: model.run(inputs))
    wide = len(model.plan.segments) >= _WIDE_PLANS
    settings = peer.ALL if wide else peer.BOTH
    runners = peer.runners(path, inputs, settings)
    openvino = {OPENVINO: peer.openvino_requests(path, inputs)()}
    contenders = {"engine": lambda: model.run(inputs), **runners, **openvino}
    run_ns = max(map(_run_ns, contenders.values()))
    times = interleaved(
        contenders,
        rounds,
        block_for_p99_ns(run_ns, rounds),
        budget_ns=round(budget_s * 1e9),
        least_runs=RUNS_FOR_P99 if run_ns < SHORT_NS else 0,
    )
    best = strongest(times)
    ours, one = times["engine"], times[peer.Setting(1).name]
    return {
        "model": name,
        "plan": model.plan.name,
        "segments": len(model.plan.segments),
        "kernels": model.facts["kernels"],
        "engine ms": ours.median_ns / 1e6,
        "best peer ms": times[best].median_ns / 1e6,
        "peer": best,
        "p50 ratio": ours.ratio_to(times[best]),
        "to OpenVINO": ours.ratio_to(times[OPENVINO]),
        "p99 ratio": ours.percentile_ns(99) / times[best].percentile_ns(99),
        "over half of one thread": ours.ratio_to(one) * cores,
        "predicted / measured": model.plan.predicted.makespan_ns / soon_ns,
        "runs": min(len(times["engine"].ns), len(times[best].ns)),
    }


def _median_ns(run: Callable[[], object]) -> float:
    """Of the runs of about a second, three at least; the first is not counted."""
    run()
    until = time.perf_counter() + _SOON_S
    taken: list[int] = []
    while len(taken) < 3 or time.perf_counter() < until:
        start = time.perf_counter_ns()
        run()
        taken.append(time.perf_counter_ns() - start)
    return statistics.median(taken)


def _run_ns(run: Callable[[], object]) -> int:
    """Time of the second of two runs."""
    run()
    start = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - start


def strongest(times: Mapping[str, Times]) -> str:
    """The peer that the engine does worst against."""
    peers = [name for name in times if name != "engine"]
    return max(peers, key=lambda name: times["engine"].ratio_to(times[name]))


def main() -> None:
    """Run and store the table, a process a model, so that none crowds the next."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, ALL, BUDGET_S)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tune", type=float, default=TUNE_S, metavar="SECONDS")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(row(args.one, args.rounds, args.tune, args.budget)))
        return
    options = ["--rounds", str(args.rounds), "--tune", str(args.tune)]
    run_table("models_cpu", args, {"rounds": args.rounds, "tune s": args.tune}, options)


if __name__ == "__main__":
    main()
