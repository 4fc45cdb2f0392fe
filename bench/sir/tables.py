"""SIR+ (SYSTOR'22) Tables 1-3 for Faster R-CNN on the profile of an emulated GPU.

The GPU's times are derived (roofline with a launch floor, engine/profiling/roofline.py), the
CPU's measured here; every figure is simulated. The paper measured on a Titan RTX (PF1).
"""

from __future__ import annotations

import dataclasses

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER, built
from surplus.engine.cli.placement_tables import common_rows, cost_rows, move_rows
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import example_inputs, measure, read_model
from surplus.engine.profiling.costs import problem_of
from surplus.placement import SimulatorParams, make_policy, placement_table
from surplus.placement.table import common_table

POLICIES = ("single", "qd_all", "qd", "sd", "comm_sd", "comm_sd_best", "heft")
PAPER_MS = {"single": 69.94, "qd_all": 213.46, "qd": 80.6, "sd": 83.6, "comm_sd": 63.3}


def main() -> None:
    """Run and store the tables."""
    path, _ = built("faster_rcnn")
    graph = read_model(path, FOLDER / "cache")
    specs = parse_devices("cpu:1,emulated:gpu[titan_rtx]")
    profile = measure(graph, specs, example_inputs(graph, path), FOLDER / "cache")
    problem = problem_of(graph, profile, specs)
    params = SimulatorParams("fifo")
    placements = [make_policy(name).place(problem) for name in POLICIES]
    table = placement_table(problem, placements, params)
    moves, costs = move_rows(table), cost_rows(table)
    for row in moves:
        row["paper ms (PF1)"] = PAPER_MS.get(str(row["policy"]), "-")
    by_name = dict(zip(POLICIES, placements, strict=True))
    common = common_rows(common_table(problem, by_name["sd"], by_name["comm_sd"], params))
    tables = {"sir_table_1": moves, "sir_table_2": costs, "sir_table_3": common}
    config = {"devices": [dataclasses.asdict(spec) for spec in specs], "order": params.order}
    for name, rows in tables.items():
        result_file.show(f"{name} (simulated, derived GPU profile)", rows)
        result_file.write(name, config, rows)


if __name__ == "__main__":
    main()
