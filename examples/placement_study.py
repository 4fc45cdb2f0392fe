"""Where should each operator run? Heuristics, a proven optimum and a lower bound, side by side.

``placement`` and ``milp`` know nothing of ONNX: this task graph is made up, and yours may come from
anywhere (``Problem.from_json`` reads one). Times are those of a simulator, and say so.
"""

from __future__ import annotations

from pathlib import Path

from surplus.engine.report.gantt import write_gantt
from surplus.milp import SolveParams, solve
from surplus.placement import lower_bounds, make_policy, policy_names, simulate
from surplus.placement.random_graphs import DetectorParams, detector

problem = detector(3, DetectorParams(backbone=5, level_tasks=1, branches=6, branch_tasks=2))
bound_ns = lower_bounds(problem).makespan_ns

print(f"{'lower bound':20} {bound_ns / 1e3:8.1f} µs")
for name in policy_names():
    timeline = simulate(problem, make_policy(name).place(problem))
    print(f"{name:20} {timeline.makespan_ns / 1e3:8.1f} µs")

result = solve(problem, SolveParams(time_limit_s=10))
print(f"{result.solver:20} {result.makespan_ns / 1e3:8.1f} µs, {result.status}")

write_gantt(Path("placement.html"), result.timeline, title="optimum")
print("placement.html draws it")
