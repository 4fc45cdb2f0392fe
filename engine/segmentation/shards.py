"""The batch of a query in shards, side by side: one segment a shard, each of one lane.

Cutting a model only helps where it has branches, and wide segments only where operators share
their work well. Rows of a batch are independent all along (engine/dfg/batch_axis.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.engine.dfg.batch_split import SplitGraph, split_batch
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.overheads import Overheads
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Problem, Task, Tensor


@dataclass(frozen=True)
class Shards:
    """A split graph with its costs.

    Parameters
    ----------
    problem : Problem
        Its tasks; numbered as those of ``split.graph``.
    service : ServiceTimes
        Derived from those of the whole batch.
    """

    split: SplitGraph
    problem: Problem
    service: ServiceTimes

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.split.sizes)

    @property
    def graph(self) -> Graph:
        """The split graph."""
        return self.split.graph

    def groups(self, device: int) -> GroupGraph:
        """What comes before the shards, each shard, and what comes after them."""
        rows: dict[int, list[int]] = {}
        begins = set(self.split.begins)
        for task, shard in enumerate(self.split.shard):
            place = shard if shard is not None else -1 if task in begins else self.count
            rows.setdefault(place, []).append(task)
        return GroupGraph(self.problem, [TaskGroup(tuple(row), device) for row in rows.values()])


def shards_of(graph: Graph, problem: Problem, service: ServiceTimes, count: int) -> Shards | None:
    """The graph in ``count`` shards with costs; None where it cannot be split."""
    split = split_batch(graph, count)
    if split is None:
        return None
    part = [None if s is None else split.sizes[s] / sum(split.sizes) for s in split.shard]
    tensors = _tensors(split, part, problem)
    moved = _moved_bytes(split, tensors)
    cells = list(zip(split.origin, part, moved, strict=True))
    costs = service.overheads
    rows = {
        key: [_time_ns(costs, row, *cell) for cell in cells] for key, row in service.task_ns.items()
    }
    # On a GPU a shard launches as many operators; moving data is not captured.
    launches = {
        device: [0 if origin is None else row[origin] for origin in split.origin]
        for device, row in service.launch_ns.items()
    }
    captured = {
        device: [None if cell[0] is None else _time_ns(costs, row, *cell) for cell in cells]
        for device, row in service.captured_ns.items()
    }
    tasks = tuple(_task(split, index, problem, rows) for index in range(len(part)))
    name = f"{problem.name} in {count} shards"
    split_problem = replace(problem, name=name, tasks=tasks, tensors=tensors)
    times = replace(
        service,
        task_ns=rows,
        measured={},
        launch_ns=launches,
        captured_ns=captured,
        problem=None if service.problem is None else split_problem,
    )
    return Shards(split, split_problem, times)


def _time_ns(
    costs: Overheads,
    row: Sequence[int | None],
    origin: int | None,
    part: float | None,
    moved_bytes: int,
) -> int | None:
    """Of a task: its own time, a share of it for some rows, or that of moving data."""
    if origin is None:
        return costs.move_ns + moved_bytes * 1_000 // costs.move_bytes_per_us
    whole_ns = row[origin]
    if whole_ns is None or part is None:
        return whole_ns
    fixed = costs.fixed_ppm / 1e6
    return round(whole_ns * (fixed + (1 - fixed) * part))


def _task(
    split: SplitGraph,
    index: int,
    problem: Problem,
    rows: Mapping[tuple[int, int], Sequence[int | None]],
) -> Task:
    origin, task = split.origin[index], split.graph.tasks[index]
    times = tuple(rows[device, 1][index] for device in range(len(problem.devices)))
    if origin is None:
        return Task(task.name, task.op_type, times)
    return replace(problem.tasks[origin], name=task.name, service_ns=times)


def _tensors(
    split: SplitGraph, part: Sequence[float | None], problem: Problem
) -> tuple[Tensor, ...]:
    sizes = {tensor.name: tensor.size_bytes for tensor in problem.tensors}

    def size_bytes(name: str, producer: int) -> int:
        whole = split.part_of.get(name)
        if whole is None:
            return sizes[name]
        share = part[producer] if producer >= 0 else None
        return round(sizes[whole] * (1.0 if share is None else share))

    return tuple(
        Tensor(
            name=tensor.name,
            producer=tensor.producer,
            consumers=tensor.consumers,
            size_bytes=0 if tensor.metadata_only else size_bytes(tensor.name, tensor.producer),
            is_output=tensor.is_output,
        )
        for tensor in split.graph.tensors
    )


def _moved_bytes(split: SplitGraph, tensors: Sequence[Tensor]) -> list[int]:
    """What each task makes."""
    return [sum(tensors[t].size_bytes for t in task.outputs) for task in split.graph.tasks]
