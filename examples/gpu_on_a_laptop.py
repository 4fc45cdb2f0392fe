"""Plan for a GPU that is not here: a stored profile says what every operator takes on it.

A profile is a file (``engine profile`` writes one on the machine that has the devices). With it any
machine can place a model, ask what a faster link would bring, and draw the plan. The one that comes
with the repository is of SSD; its times of the GPU are derived, and say so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from surplus import models
from surplus.engine.planning.stages import read_model
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.profile import Profile
from surplus.engine.report.gantt import write_gantt
from surplus.placement import lower_bounds, make_policy, simulate

profile = Profile.load(sys.argv[1])  # bench/profiles/ssd.json.gz
models.save(models.build("ssd"), "ssd.onnx")
graph = read_model("ssd.onnx")
problem = problem_of(graph, profile, profile.device_specs())

print(f"{len(problem.tasks)} tasks, lower bound {lower_bounds(problem).makespan_ns / 1e6:.2f} ms")
for name in ("single", "sd", "comm_sd", "heft", "best"):
    placement = make_policy(name).place(problem)
    timeline = simulate(problem, placement)
    print(f"{name:8} {timeline.makespan_ns / 1e6:6.2f} ms, simulated")
    write_gantt(Path(f"{name}.html"), timeline, title=f"SSD by {name}")
