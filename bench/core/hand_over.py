"""How long a ready node waits for another lane: a chain that alternates between two lanes.

A lane that waits spins for a while, then parks; both are measured, the latter with spinning off.
"""

from __future__ import annotations

import statistics

from bench.core import native
from bench.infrastructure import result_file

ROUNDS = 15
BARS_NS = {"spinning": 1_000, "parked": 8_000}


def main() -> None:
    """Run and store the table."""
    found = native.run("core_hand_over", str(ROUNDS))
    rows: list[dict[str, object]] = []
    for state, bar_ns in BARS_NS.items():
        times_ns = [r[f"{state}_ns"] for r in found["rounds"]]
        rows.append(
            {
                "the other lane is": state,
                "median ns": statistics.median(times_ns),
                "worst round ns": max(times_ns),
                "bar ns": bar_ns,
            }
        )
    result_file.show("Hand-over between two lanes", rows)
    result_file.write("hand_over", {"hops": found["hops"], "rounds": ROUNDS}, rows)


if __name__ == "__main__":
    main()
