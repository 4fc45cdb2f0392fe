"""Two models share a device under latency targets: which policy keeps them?

The policies are simulated on a virtual clock here, in seconds; the same policy objects serve live
(``engine serve REPOSITORY --policy NAME --slo MODEL=30ms``).
"""

from __future__ import annotations

from pathlib import Path

from surplus import colocation

SCENARIO = """
name = "a light and a heavy model"
duration_s = 10
seed = 1
policies = ["fcfs", "edf", "edf_drop", "clockwork", "nexus"]

[[device]]
name = "gpu0"

[[service]]
name = "light"
slo_ms = 30
max_batch = 16
profile = { kind = "affine", fixed_ns = 3_000_000, per_item_ns = 500_000, deviation = 0.05 }
load = { kind = "poisson", rate_per_s = 150 }

[[service]]
name = "heavy"
slo_ms = 100
max_batch = 16
profile = { kind = "table", items = [1, 4, 16], ms = { 100 = [10, 16, 40] }, deviation = 0.03 }
load = { kind = "bursty", rate_per_s = 40, peak = 2.5, burst_s = 1, calm_s = 4 }
"""

Path("two_models.toml").write_text(SCENARIO)
scenario = colocation.read_scenario(Path("two_models.toml"))
load, compared = colocation.compare(scenario, scenario.policies)

print(f"{len(load)} queries, the same for each policy, simulated")
for one in sorted(compared, key=lambda one: -one.summary.total.goodput_per_s):
    total = one.summary.total
    in_time = total.in_time / total.offered
    print(f"{one.summary.policy:10} {in_time:6.1%} in time, p99 {total.p99_ns / 1e6:6.1f} ms")
