"""What the scheduler costs per node, beside oneTBB's flow graph on the same graphs.

Graphs of 10,000 nodes, of no work and of 1 µs; one lane and two. Each round runs all contenders
in turn in one process; figures are medians over the rounds, speed-ups taken within a round.
"""

from __future__ import annotations

import statistics
from typing import Any

from bench.core import native
from bench.infrastructure import result_file

ROUNDS = 9


def rows(found: dict[str, Any]) -> list[dict[str, object]]:
    """A row a graph and contender."""
    made = []
    contenders = {"ours": "engine", "peer": found["peer"]} if found["peer"] else {"ours": "engine"}
    for graph in dict.fromkeys(r["graph"] for r in found["rounds"]):
        for key, name in contenders.items():
            empty, grain = (_figures(found, graph, g, f"{key}_ns") for g in (0, 1000))
            made.append(
                {
                    "graph": graph,
                    "scheduler": name,
                    "no-op ns/node, 1 lane": statistics.median(one for one, _ in empty),
                    "no-op ns/node, 2 lanes": statistics.median(two for _, two in empty),
                    "1 µs ns/node, 1 lane": statistics.median(one for one, _ in grain),
                    "1 µs ns/node, 2 lanes": statistics.median(two for _, two in grain),
                    "1 µs grain, speed-up": statistics.median(one / two for one, two in grain),
                }
            )
    return made


def _figures(
    found: dict[str, Any], graph: str, grain_ns: int, key: str
) -> list[tuple[float, float]]:
    matching = (r for r in found["rounds"] if r["graph"] == graph and r["grain_ns"] == grain_ns)
    return [(r[key][0], r[key][1]) for r in matching]


def main() -> None:
    """Run and store the table."""
    found = native.run("core_dispatch", str(ROUNDS))
    if not found["peer"]:
        print("oneTBB is not installed (pip install tbb-devel): the table is without it")
    made = rows(found)
    result_file.show("Dispatch of 10,000 nodes", made)
    config = {"nodes": found["nodes"], "rounds": ROUNDS, "peer": found["peer"] or "not installed"}
    result_file.write("dispatch", config, made)


if __name__ == "__main__":
    main()
