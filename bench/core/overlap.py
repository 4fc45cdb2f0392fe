"""Two independent branches, one on the CPU and one on the emulated GPU.

ONNX Runtime runs them one after the other, whatever their devices; here the query should take
what its longer branch takes. The GPU is emulated: its branch is charged by the clock.
"""

from __future__ import annotations

import statistics
import time

from bench.infrastructure import result_file
from surplus.engine import _core

BRANCHES_MS = ((20, 20), (10, 20), (20, 10))
REPEATS = 15


def plan(cpu_ns: int, gpu_ns: int) -> tuple[_core.Machine, _core.Plan]:
    """Fork, one node of work on each device, join."""
    cpu, gpu = _core.DeviceOptions(), _core.DeviceOptions()
    cpu.kind, cpu.name, cpu.lanes = "cpu", "cpu", 1
    gpu.kind, gpu.name, gpu.lanes = "emulated", "emulated:gpu", 1
    machine = _core.Machine([cpu, gpu])
    builder = _core.PlanBuilder(machine)
    fork = builder.add_work("fork", 0)
    left = builder.add_work("left", 0, after=[fork], spin_ns=cpu_ns)
    right = builder.add_work("right", 1, after=[fork], spin_ns=gpu_ns)
    builder.add_work("join", 0, after=[left, right])
    return machine, builder.build()


def row(cpu_ms: int, gpu_ms: int) -> dict[str, object]:
    """Measure branches of these lengths."""
    machine, made = plan(cpu_ms * 1_000_000, gpu_ms * 1_000_000)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        made.run([])
        times.append(time.perf_counter_ns() - start)
    machine.close()
    median = statistics.median(times) / 1e6
    return {
        "CPU branch ms": cpu_ms,
        "emulated GPU branch ms": gpu_ms,
        "together ms": median,
        "over the longer": median / max(cpu_ms, gpu_ms),
        "over the sum": median / (cpu_ms + gpu_ms),
    }


def main() -> None:
    """Run and store the table."""
    rows = [row(cpu_ms, gpu_ms) for cpu_ms, gpu_ms in BRANCHES_MS]
    result_file.show("Overlap of two branches (emulated GPU)", rows)
    result_file.write("overlap", {"repeats": REPEATS}, rows)


if __name__ == "__main__":
    main()
