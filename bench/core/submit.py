"""What a query in this process costs beside its plan: from ``submit`` to the result, and ``run``.

The plan's own time is the core's, which is given values and asked to execute them.
"""

from __future__ import annotations

import argparse
import statistics

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.timing import Times, interleaved
from bench.serving.payloads import Payload, floats_16, kilobytes_600
from surplus.engine.pipeline.load import load_planned
from surplus.engine.values import to_value

BUDGET_NS = 20_000_000_000
BAR_US = 5.0


def row(payload: Payload, budget_ns: int) -> dict[str, object]:
    """Measure one model, all three in turns."""
    inputs = payload.inputs
    model = load_planned(payload.file, cache=FOLDER / "cache", inputs=inputs)
    values = [to_value(inputs[spec.name], spec.elem_type) for spec in model.inputs]
    times = interleaved(
        {
            "plan": lambda: model.native.execute(values),
            "run": lambda: model.run(inputs),
            "submit": lambda: model.submit(inputs).result(),
        },
        budget_ns=budget_ns,
    )
    return {
        "model": payload.name,
        "the plan's own µs": times["plan"].median_ns / 1e3,
        "run above it µs": above_ns(times["run"], times["plan"]) / 1e3,
        "submit to result above it µs": above_ns(times["submit"], times["plan"]) / 1e3,
        "bar µs": BAR_US,
    }


def above_ns(times: Times, others: Times) -> float:
    """Difference of medians within a round, median over the rounds, as ``Times.ratio_to``."""
    pairs = zip(times.rounds, others.rounds, strict=True)
    return statistics.median(statistics.median(a) - statistics.median(b) for a, b in pairs)


def main() -> None:
    """Run and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, help="for each model; nothing is stored")
    seconds = parser.parse_args().seconds
    budget_ns = round(seconds * 1e9) if seconds else BUDGET_NS
    rows = [row(payload, budget_ns) for payload in (floats_16(), kilobytes_600())]
    result_file.show("A query in this process", rows)
    if seconds is None:
        result_file.write("submit", {"budget_ns": BUDGET_NS}, rows)


if __name__ == "__main__":
    main()
