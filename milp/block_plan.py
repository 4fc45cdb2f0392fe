"""Plans of single blocks: cut out of a plan of the whole, and joined to one again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from surplus.milp.copies import LinkCopy
from surplus.milp.incumbent import Incumbent, make_incumbent
from surplus.milp.series import SeriesBlock
from surplus.placement import Problem, SpanKind


@dataclass(frozen=True)
class BlockPlan:
    """A plan of one block, its times from the end of its first cut.

    Parameters
    ----------
    makespan_ns : int
        Until the end of its last cut, or of everything.
    device_of : dict of int to int
        By task of the whole problem, both cuts included.
    starts_ns : dict of int to int
        Likewise, the first cut excluded: it belongs to the block before.
    copy_starts_ns : dict of LinkCopy to int
        Copies of what its tasks make, by tensor of the whole problem.
    width_of : dict of int to int
        As ``starts_ns``; empty if no task has a choice.
    """

    makespan_ns: int
    device_of: dict[int, int]
    starts_ns: dict[int, int]
    copy_starts_ns: dict[LinkCopy, int]
    width_of: dict[int, int] = field(default_factory=dict)


def plan_of_block(
    problem: Problem, block: SeriesBlock, found: Incumbent, tensor_of: Mapping[str, int]
) -> BlockPlan:
    """What was found for a block's own problem, in terms of the whole.

    Parameters
    ----------
    tensor_of : mapping of str to int
        Tensors of the whole, by name.
    """
    device_of = {task: found.placement.device_of[i] for i, task in enumerate(block.tasks)}
    starts_ns: dict[int, int] = {}
    copies: dict[LinkCopy, int] = {}
    for span in found.timeline:
        if span.kind is SpanKind.COPY:
            link = problem.links_by_name[span.resource]
            copies[LinkCopy(tensor_of[span.name], link.source, link.target)] = span.start_ns
        elif block.tasks[span.index] != block.first:
            starts_ns[block.tasks[span.index]] = span.start_ns
    width_of = {
        block.tasks[i]: width
        for i, width in found.width_of.items()
        if block.tasks[i] != block.first
    }
    return BlockPlan(found.makespan_ns, device_of, starts_ns, copies, width_of)


def cut_up(problem: Problem, blocks: Iterable[SeriesBlock], found: Incumbent) -> list[BlockPlan]:
    """A plan of the whole, block by block."""
    tasks = {span.index: span for span in found.timeline if span.kind is SpanKind.TASK}
    copies: dict[int, list[tuple[LinkCopy, int]]] = {}
    for span in found.timeline:
        if span.kind is SpanKind.COPY:
            link = problem.links_by_name[span.resource]
            copy = LinkCopy(span.index, link.source, link.target)
            producer = problem.tensors[span.index].producer
            copies.setdefault(producer, []).append((copy, span.start_ns))
    plans = []
    begin, widths = 0, found.width_of
    for block in blocks:
        end = found.makespan_ns if block.last is None else tasks[block.last].end_ns
        makers = [-1] if block.first is None else []
        makers += [task for task in block.tasks if task != block.last]
        plans.append(
            BlockPlan(
                end - begin,
                {task: found.placement.device_of[task] for task in block.tasks},
                {t: tasks[t].start_ns - begin for t in block.tasks if t != block.first},
                {c: start - begin for maker in makers for c, start in copies.get(maker, ())},
                {t: widths[t] for t in block.tasks if t != block.first} if widths else {},
            )
        )
        begin = end
    return plans


def incumbent_of(
    problem: Problem, block: SeriesBlock, plan: BlockPlan, tensor_of: Mapping[str, int]
) -> Incumbent:
    """The inverse of ``plan_of_block``."""
    number = {tensor_of[tensor.name]: index for index, tensor in enumerate(problem.tensors)}
    return make_incumbent(
        problem,
        [plan.device_of[task] for task in block.tasks],
        [plan.starts_ns.get(task, 0) for task in block.tasks],
        "known",
        {
            LinkCopy(number[copy.tensor], copy.source, copy.target): start_ns
            for copy, start_ns in plan.copy_starts_ns.items()
        },
        {i: plan.width_of[t] for i, t in enumerate(block.tasks) if t in plan.width_of},
    )


def join(problem: Problem, plans: Iterable[BlockPlan], origin: str) -> Incumbent:
    """One plan of the whole, which may turn out shorter than the sum."""
    device_of = [0] * len(problem.tasks)
    starts = [0.0] * len(problem.tasks)
    copies: dict[LinkCopy, float] = {}
    widths: dict[int, int] = {}
    begin = 0
    for plan in plans:
        for task, device in plan.device_of.items():
            device_of[task] = device
        for task, start_ns in plan.starts_ns.items():
            starts[task] = begin + start_ns
        for copy, start_ns in plan.copy_starts_ns.items():
            copies[copy] = begin + start_ns
        widths |= plan.width_of
        begin += plan.makespan_ns
    return make_incumbent(problem, device_of, starts, origin, copies, widths)
