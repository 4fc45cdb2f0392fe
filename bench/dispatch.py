"""What the core costs per node: graphs of 10,000 nodes that do nothing, and of 1 µs grains."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

from bench import result_file
from engine import _core

NODES = 10_000
Edges = list[list[int]]


def fork_join(width: int = 100) -> Edges:
    """Layers of ``width`` independent nodes between joins; predecessors of each node."""
    before: Edges = [[]]
    while len(before) + width + 1 <= NODES:
        fork = len(before) - 1
        before += [[fork] for _ in range(width)]
        before.append(list(range(fork + 1, fork + 1 + width)))
    before += [[len(before) - 1] for _ in range(NODES - len(before))]
    return before


def random_graph(seed: int = 1) -> Edges:
    """Up to three predecessors among the hundred nodes before."""
    rng = random.Random(seed)
    return [
        sorted({rng.randrange(max(0, i - 100), i) for _ in range(rng.randint(1, 3))}) if i else []
        for i in range(NODES)
    ]


def plan(edges: Edges, lanes: int, grain_ns: int) -> tuple[_core.Machine, _core.Plan]:
    """The graph on a CPU with ``lanes`` lanes."""
    options = _core.DeviceOptions()
    options.kind, options.name, options.lanes = "cpu", "cpu", lanes
    machine = _core.Machine([options])
    builder = _core.PlanBuilder(machine)
    for index, before in enumerate(edges):
        builder.add_work(f"n{index}", 0, after=before, spin_ns=grain_ns, rank=index)
    return machine, builder.build()


def median_ns_per_node(edges: Edges, lanes: int, grain_ns: int, repeats: int = 60) -> float:
    """Median over repeats of one run's time over its nodes."""
    machine, made = plan(edges, lanes, grain_ns)
    try:
        return statistics.median(_time(made) for _ in range(repeats)) / len(edges)
    finally:
        machine.close()


def _time(made: _core.Plan) -> int:
    start = time.perf_counter_ns()
    made.run([])
    return time.perf_counter_ns() - start


def main() -> None:
    """Run and store the table."""
    shapes: dict[str, Callable[[], Edges]] = {"fork-join": fork_join, "random": random_graph}
    rows = []
    for shape, make in shapes.items():
        edges = make()
        row: dict[str, object] = {"graph": shape, "edges": sum(map(len, edges))}
        for lanes in (1, 2):
            row[f"no-op ns/node, {lanes} lane"] = median_ns_per_node(edges, lanes, 0)
        one, two = (median_ns_per_node(edges, lanes, 1000, 20) for lanes in (1, 2))
        row["1 µs grain, speed-up of 2 lanes"] = one / two
        rows.append(row)
    result_file.show("Dispatch of 10,000 nodes", rows)
    result_file.write("dispatch", {"nodes": NODES}, rows)


if __name__ == "__main__":
    main()
