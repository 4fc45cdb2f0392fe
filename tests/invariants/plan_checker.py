"""An independent judge of executable plans: walks a plan as the runtime would, value by value.

It shares no code with what makes plans. What a segment reads and makes it takes from the graph's
tasks; where a value lies it finds out by executing segments and copies on paper. A partial join
(engine/dfg/partial_join.py) is a value of its own, made by one segment and read by another, in
place of neighbouring inputs of a Concat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.plan import Copy, Plan, Segment

Place = tuple[str, str]
"""A value in a memory space: (tensor name, memory)."""


@dataclass(frozen=True)
class Step:
    """A segment or copy on paper: the values that it reads and makes, and when it may start."""

    name: str
    reads: tuple[Place, ...]
    makes: tuple[Place, ...]
    rank: int


def check_plan(graph: Graph, plan: Plan, lanes: Sequence[int]) -> None:
    """Raise AssertionError, listing what is wrong, unless the plan can be executed as it says.

    Parameters
    ----------
    lanes : sequence of int
        Lanes of each of the plan's devices.
    """
    found = violations(graph, plan, lanes)
    assert not found, "; ".join(found[:5])


def violations(graph: Graph, plan: Plan, lanes: Sequence[int]) -> list[str]:
    """What is wrong with a plan, one line each; empty for a good one."""
    found = [*_shape(graph, plan, lanes), *_bound(plan)]
    if not found:
        found += [*_joins(graph, plan), *_boundaries(graph, plan)]
        found += [*_copies(graph, plan), *_ranks(plan)]
    if not found:
        steps = _steps(graph, plan)
        found += _walk(graph, plan, sorted(steps, key=lambda s: s.rank), "by rank")
        for seed in range(3):
            found += _walk(graph, plan, _shuffled(graph, plan, steps, seed), f"shuffled {seed}")
    return found


def _shape(graph: Graph, plan: Plan, lanes: Sequence[int]) -> Iterator[str]:
    times = Counter(task for segment in plan.segments for task in segment.tasks)
    for index, task in enumerate(graph.tasks):
        if times.pop(index, 0) != 1:
            yield f"task {task.name!r} is not in exactly one segment"
    if times:
        yield f"tasks {sorted(times)} are not in the graph"
    if not len(plan.devices) == len(plan.memories) == len(lanes):
        yield f"{len(plan.devices)} devices, {len(plan.memories)} memories, {len(lanes)} lanes"
        return
    for segment in plan.segments:
        if not segment.tasks or list(segment.tasks) != sorted(segment.tasks):
            yield f"segment {segment.name!r} has tasks {segment.tasks}"
        if not 0 <= segment.device < len(lanes):
            yield f"segment {segment.name!r} is on device {segment.device}"
        elif not 1 <= segment.width <= lanes[segment.device]:
            yield f"segment {segment.name!r} takes {segment.width} lanes"


def _bound(plan: Plan) -> Iterator[str]:
    """A lower bound of all plans holds for this one."""
    if not 0 <= plan.bound_ns <= plan.predicted.makespan_ns:
        yield f"bound {plan.bound_ns} ns, predicted {plan.predicted.makespan_ns} ns"


def _joins(graph: Graph, plan: Plan) -> Iterator[str]:
    """Each partial join stands for a run of a Concat's inputs that nobody else wants."""
    for join in {join for segment in plan.segments for join in segment.joins}:
        task = graph.tasks[join.task]
        names, count = list(task.node.input), len(join.tensors)
        starts = [i for i in range(len(names)) if tuple(names[i : i + count]) == join.tensors]
        if task.op_type != "Concat" or len(starts) != 1 or join.name in graph.tensor_index:
            yield f"{join} is no run of inputs of {task.name!r}"
        makers = [s for s in plan.segments if join in s.joins and join.name in s.outputs]
        readers = [s for s in plan.segments if join in s.joins and join.name in s.inputs]
        holders = [s for s in plan.segments if join in s.joins]
        if len(makers) != 1 or len(readers) != 1 or len(holders) != 2:
            yield f"{join.name!r} is made by {len(makers)} and read by {len(readers)} segments"
        elif join.task not in readers[0].tasks:
            yield f"{join.name!r} is read without {task.name!r}"
        elif not _own(graph, makers[0]) >= set(join.tensors):
            yield f"{join.name!r} joins what {makers[0].name!r} does not make"
        for name in join.tensors:
            tensor = graph.tensors[graph.tensor_index[name]]
            if tensor.is_output or set(tensor.consumers) != {join.task}:
                yield f"{join.name!r} hides {name!r}, which others read"


def _own(graph: Graph, segment: Segment) -> set[str]:
    return {graph.tensors[t].name for index in segment.tasks for t in graph.tasks[index].outputs}


def _boundaries(graph: Graph, plan: Plan) -> Iterator[str]:
    made_by: dict[str, str] = {}
    for segment in plan.segments:
        reads, makes = _names(graph, segment)
        if len(set(segment.inputs)) < len(segment.inputs) or set(segment.inputs) != reads - makes:
            yield f"segment {segment.name!r} reads {reads - makes}, its inputs are {segment.inputs}"
        needed = {name for name in makes if _leaves(graph, segment, name)}
        given = set(segment.outputs)
        if len(given) < len(segment.outputs) or not needed <= given <= makes or not given:
            yield f"segment {segment.name!r} must make {needed}, its outputs are {segment.outputs}"
        for name in segment.outputs:
            if name in made_by:
                yield f"{name!r} is made by {made_by[name]!r} and {segment.name!r}"
            made_by[name] = segment.name


def _names(graph: Graph, segment: Segment) -> tuple[set[str], set[str]]:
    """Names that a segment reads and makes, joins in place of what they stand for."""
    tasks = [graph.tasks[index] for index in segment.tasks]
    reads = {graph.tensors[t].name for task in tasks for t in task.inputs}
    makes = _own(graph, segment)
    for join in segment.joins:
        if join.task in segment.tasks:
            reads = (reads - set(join.tensors)) | {join.name}
        else:
            makes = (makes - set(join.tensors)) | {join.name}
    return reads, makes


def _leaves(graph: Graph, segment: Segment, name: str) -> bool:
    """Whether a value is wanted outside the segment that makes it."""
    if any(name == join.name for join in segment.joins):
        return True
    ends = {graph.tensors[index].name for index in graph.outputs}
    others = (
        graph.tensors[tensor].name
        for index, task in enumerate(graph.tasks)
        if index not in segment.tasks
        for tensor in task.inputs
    )
    return name in ends or name in others


def _homes(plan: Plan) -> dict[str, str]:
    """The memory where each value that crosses segments is made."""
    return {name: plan.memories[s.device] for s in plan.segments for name in s.outputs}


def _metadata_only(graph: Graph, name: str) -> bool:
    """Partial joins are no tensors of the graph; they carry data."""
    index = graph.tensor_index.get(name)
    return index is not None and graph.tensors[index].metadata_only


def _copies(graph: Graph, plan: Plan) -> Iterator[str]:
    """No copy is made twice, of what is there already, of what carries nothing, or for nobody."""
    homes, seen = _homes(plan), set()
    wanted = {(name, plan.memories[s.device]) for s in plan.segments for name in s.inputs}
    wanted |= {(graph.tensors[index].name, plan.memories[0]) for index in graph.outputs}
    for copy in plan.copies:
        target = plan.memories[copy.target]
        home = homes.get(copy.tensor, plan.memories[0])
        if plan.memories[copy.source] != home or target == home:
            yield f"{copy} does not lead away from {home!r}"
        if _metadata_only(graph, copy.tensor) or (copy.tensor, target) in seen:
            yield f"{copy} is needless"
        if (copy.tensor, target) not in wanted:
            yield f"{copy} serves nobody"
        seen.add((copy.tensor, target))


def _ranks(plan: Plan) -> Iterator[str]:
    ranks = sorted(segment.rank for segment in plan.segments)
    if ranks != list(range(len(ranks))):
        yield f"ranks are {ranks}"


def _steps(graph: Graph, plan: Plan) -> list[Step]:
    """Segments and copies with the places that they read and make."""
    homes = _homes(plan)
    copied = {(copy.tensor, plan.memories[copy.target]) for copy in plan.copies}

    def place(name: str, memory: str) -> Place:
        stays = _metadata_only(graph, name) and (name, memory) not in copied
        return (name, homes.get(name, plan.memories[0]) if stays else memory)

    return [
        *(_segment_step(plan, s, tuple(place(n, plan.memories[s.device]) for n in s.inputs))
          for s in plan.segments),
        *(_copy_step(plan, copy) for copy in plan.copies),
    ]  # fmt: skip


def _segment_step(plan: Plan, segment: Segment, reads: tuple[Place, ...]) -> Step:
    made = tuple((name, plan.memories[segment.device]) for name in segment.outputs)
    return Step(segment.name, reads, made, 2 * segment.rank + 1)


def _copy_step(plan: Plan, copy: Copy) -> Step:
    """A copy goes before the segments of its own rank."""
    source, target = plan.memories[copy.source], plan.memories[copy.target]
    return Step(f"copy {copy.tensor}", ((copy.tensor, source),), ((copy.tensor, target),),
                2 * copy.rank)  # fmt: skip


def _given(graph: Graph, plan: Plan) -> set[Place]:
    """What is there before anything runs: inputs, and outputs that are constants."""
    names = {graph.tensors[i].name for i in graph.inputs} | set(graph.constant_outputs)
    return {(name, plan.memories[0]) for name in names}


def _walk(graph: Graph, plan: Plan, order: Iterable[Step], how: str) -> Iterator[str]:
    """Execute on paper in the given order, freeing each value at its last use."""
    order = list(order)
    ends = [(graph.tensors[i].name, plan.memories[0]) for i in graph.outputs]
    uses = Counter([place for step in order for place in step.reads] + ends)
    alive, made = _given(graph, plan), set(_given(graph, plan))
    for step in order:
        for place in step.reads:
            if place not in alive:
                yield f"{how}: {step.name!r} reads {place}, which is not there"
            uses[place] -= 1
            if uses[place] == 0:
                alive.discard(place)
        for place in step.makes:
            if place in made:
                yield f"{how}: {step.name!r} makes {place} again"
            made.add(place)
            if uses[place]:
                alive.add(place)
    for place in set(ends) - alive:
        yield f"{how}: output {place} is not there in the end"
    for place in alive - set(ends) - _given(graph, plan):
        yield f"{how}: {place} is never freed"


def _shuffled(graph: Graph, plan: Plan, steps: Sequence[Step], seed: int) -> list[Step]:
    """Any order in which all that a step reads was made; what never can is put last."""
    random, order, there = Random(seed), [], _given(graph, plan)
    waiting = list(steps)
    while ready := [s for s in waiting if there.issuperset(s.reads)]:
        step = random.choice(ready)
        waiting.remove(step)
        order.append(step)
        there.update(step.makes)
    return order + waiting
