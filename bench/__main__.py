"""``python -m bench [NAME ...]``: run every table, or some, and store the results."""

from __future__ import annotations

import subprocess
import sys

TABLES = (
    "dispatch",
    "hand_over",
    "tracing",
    "fan_out",
    "overlap",
    "models_cpu",
    "throughput",
    "co_run",
    "memory",
    "many_models",
    "size",
    "not_tensors",
    "plan_judgement",
    "start_up",
    "repository",
    "sir_tables",
    "optimum",
    "serving",
    "dstack_golden",
    "dstack_gains",
    "dstack_steps",
    "gpulet_interference",
    "gpulet_population",
    "gpulet_capacity",
    "gpulet_scaling",
    "colocation_conservation",
    "colocation_live",
)


def main() -> int:
    """Run each table in a process of its own, so that none warms or crowds the next."""
    wanted = sys.argv[1:] or TABLES
    failed = []
    for name in wanted:
        if name not in TABLES:
            print(f"no table {name!r}; there are: {', '.join(TABLES)}", file=sys.stderr)
            return 2
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
