"""D-STACK (TCC'24), Fig. 11(b): one rate after the other falls; who gets what it leaves.

Means over five traces. As in the figure, what each model gets in each step, and the device in
use. In the paper the others get more while one asks for less, and use stays about 85 %.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.infrastructure import result_file
from surplus.colocation import Run, compare, read_scenario
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome

SCENARIO = Path(__file__).parents[1] / "configs" / "colocation" / "dstack" / "fig11b.toml"
SEEDS = (1, 2, 3, 4, 5)
STEP_S = 4
STEPS = ("all at their rates", "alexnet", "mobilenet", "resnet50", "vgg19")
"""Who asks for half."""

Matrix = npt.NDArray[np.float64]


def in_time_per_s(run: Run, load: Load, services: int) -> Matrix:
    """By step of arrival and service: queries answered in time, a second."""
    kept = np.frombuffer(run.record.outcome, np.int8) == Outcome.IN_TIME
    step = load.arrival_ns[kept] // (STEP_S * NS_PER_S)
    counts = np.zeros((len(STEPS), services))
    np.add.at(counts, (step, load.service[kept]), 1)
    return counts / STEP_S


def in_use(run: Run) -> Matrix:
    """By step: share of the device that was held."""
    start_ns = np.frombuffer(run.record.group_start_ns, np.int64)
    end_ns = np.frombuffer(run.record.group_end_ns, np.int64)
    shares = np.array([p.share_percent for p in run.deployment.partitions])
    share = shares[np.frombuffer(run.record.group_partition, np.int64)]
    step_ns = STEP_S * NS_PER_S
    found = []
    for step in range(len(STEPS)):
        begin_ns, until_ns = step * step_ns, (step + 1) * step_ns
        held_ns = np.minimum(end_ns, until_ns) - np.maximum(start_ns, begin_ns)
        found.append((np.maximum(held_ns, 0) * share).sum() / (100 * step_ns))
    return np.array(found)


def rows() -> list[dict[str, Any]]:
    """A row for each step."""
    scenario = read_scenario(SCENARIO)
    names = [service.name for service in scenario.services]
    answered, used = [], []
    for seed in SEEDS:
        load, (one,) = compare(replace(scenario, seed=seed), ["dstack"])
        answered.append(in_time_per_s(one.run, load, len(names)))
        used.append(in_use(one.run))
    figures, use = np.mean(answered, axis=0), np.mean(used, axis=0)
    return [_row(step, names, figures, float(use[step])) for step in range(len(STEPS))]


def _row(step: int, names: list[str], figures: Matrix, use: float) -> dict[str, Any]:
    others = [k for k, name in enumerate(names) if name != STEPS[step]]
    gain = figures[step, others].sum() / figures[0, others].sum() - 1
    return {
        "at half its rate": STEPS[step] if step else "none",
        **{f"{name}, in time / s": float(figures[step, k]) for k, name in enumerate(names)},
        "the others, %": 100 * float(gain),
        "in use %": 100 * use,
    }


def main() -> None:
    """Run and store the table."""
    found = rows()
    result_file.show("dstack_steps (simulated)", found)
    result_file.write("dstack_steps", {"seeds": SEEDS, "scenario": SCENARIO.name}, found)


if __name__ == "__main__":
    main()
