"""What recording spans costs: the same plans traced and untraced, in turns."""

from __future__ import annotations

import os

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.timing import interleaved
from surplus.engine.pipeline.load import load_planned
from surplus.engine.values import to_value

NAMES = ("lenet", "fork_join", "random_dag", "dlrm", "mobilenet_v2", "inception_v3")
BUDGET_NS = 7_000_000_000


def row(name: str) -> dict[str, object]:
    """Measure one model: the core's part, and ``Model.run`` as a whole."""
    path, inputs = built(name)
    model = load_planned(
        path, devices=f"cpu:{len(os.sched_getaffinity(0))}", cache=FOLDER / "cache"
    )
    values = [to_value(inputs[spec.name], spec.elem_type) for spec in model.inputs]
    times = interleaved(
        {
            "plain": lambda: model.native.execute(values),
            "traced": lambda: model.native.execute(values, traced=True),
            "run": lambda: model.run(inputs),
            "run traced": lambda: model.run(inputs, traced=True),
        },
        budget_ns=BUDGET_NS,
    )
    return {
        "model": name,
        "segments": len(model.plan.segments),
        "untraced ms": times["plain"].median_ns / 1e6,
        "core: traced / untraced": times["traced"].ratio_to(times["plain"]),
        "Model.run: traced / untraced": times["run traced"].ratio_to(times["run"]),
    }


def main() -> None:
    """Run and store the table."""
    rows = [row(name) for name in NAMES]
    result_file.show("Cost of tracing", rows)
    result_file.write("tracing", {"budget_ns": BUDGET_NS}, rows)


if __name__ == "__main__":
    main()
