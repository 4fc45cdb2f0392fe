"""Every model on all cores against ONNX Runtime at its best of one or all intra-op threads.

Also: predicted against measured makespan.
"""

from __future__ import annotations

import argparse
import os

import engine
import models
from bench import peer, result_file
from bench.built_models import FOLDER, built
from bench.timing import interleaved


def row(name: str, rounds: int) -> dict[str, object]:
    """Measure one model."""
    cores = len(os.sched_getaffinity(0))
    path, inputs = built(name)
    model = engine.load(path, devices=f"cpu:{cores}", cache=FOLDER / "cache")
    contenders = {
        "engine": lambda: model.run(inputs),
        **peer.runners(path, inputs, (1, cores)),
    }
    times = interleaved(contenders, rounds, budget_ns=15_000_000_000)
    # The peer at its best: the setting that the engine does worst against.
    best = max(
        (n for n in times if n != "engine"), key=lambda n: times["engine"].ratio_to(times[n])
    )
    ours = times["engine"]
    return {
        "model": name,
        "plan": model.plan.name,
        "segments": len(model.plan.segments),
        "engine ms": ours.median_ns / 1e6,
        "best ONNX Runtime ms": times[best].median_ns / 1e6,
        "setting": best,
        "p50 ratio": ours.ratio_to(times[best]),
        "p99 ratio": ours.percentile_ns(99) / times[best].percentile_ns(99),
        "predicted / measured": model.plan.predicted.makespan_ns / ours.median_ns,
    }


def main() -> None:
    """Run and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models (default: all)")
    parser.add_argument("--rounds", type=int, default=25)
    args = parser.parse_args()
    rows = [row(name, args.rounds) for name in args.names or models.model_names()]
    result_file.show("Models on all cores", rows)
    if not args.names:
        result_file.write("models_cpu", {"rounds": args.rounds}, rows)


if __name__ == "__main__":
    main()
