"""Every model on all cores against ONNX Runtime at its best.

Its best of one and all intra-op threads, and, where the model is wide, of parallel mode with and
without a partition file. Beside it the physical limit, half the time of one thread, and the
predicted makespan.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping

import engine
import models
from bench import peer, result_file
from bench.built_models import FOLDER, built
from bench.timing import Times, interleaved

_WIDE_PLANS = 3
"""Segments from which a plan says that the model has branches."""


def row(name: str, rounds: int, tune_s: float) -> dict[str, object]:
    """Measure one model."""
    cores = len(os.sched_getaffinity(0))
    path, inputs = built(name)
    model = engine.load(path, devices=f"cpu:{cores}", cache=FOLDER / "cache", tune_s=tune_s)
    wide = len(model.plan.segments) >= _WIDE_PLANS
    settings = peer.ALL if wide else peer.BOTH
    runners = peer.runners(path, inputs, settings)
    contenders = {"engine": lambda: model.run(inputs), **runners}
    times = interleaved(contenders, rounds, budget_ns=8_000_000_000)
    best = strongest(times)
    ours, one = times["engine"], times[peer.Setting(1).name]
    return {
        "model": name,
        "plan": model.plan.name,
        "segments": len(model.plan.segments),
        "engine ms": ours.median_ns / 1e6,
        "best ONNX Runtime ms": times[best].median_ns / 1e6,
        "setting": best.removeprefix("onnxruntime "),
        "p50 ratio": ours.ratio_to(times[best]),
        "p99 ratio": ours.percentile_ns(99) / times[best].percentile_ns(99),
        "over half of one thread": ours.ratio_to(one) * cores,
        "predicted / measured": model.plan.predicted.makespan_ns / ours.median_ns,
    }


def strongest(times: Mapping[str, Times]) -> str:
    """The peer that the engine does worst against."""
    peers = [name for name in times if name != "engine"]
    return max(peers, key=lambda name: times["engine"].ratio_to(times[name]))


def main() -> None:
    """Run and store the table, a process a model, so that none crowds the next."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models (default: all)")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--tune", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(row(args.one, args.rounds, args.tune)))
        return
    rows = []
    for name in args.names or models.model_names():
        command = [sys.executable, "-m", "bench.models_cpu", "--one", name]
        command += ["--rounds", str(args.rounds), "--tune", str(args.tune)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        result_file.show(name, rows[-1:])
        if not args.names:  # row by row: all models take a quarter of an hour
            result_file.write("models_cpu", {"rounds": args.rounds, "tune s": args.tune}, rows)
    result_file.show("Models on all cores", rows)


if __name__ == "__main__":
    main()
