"""Who of a timeline started although a hold of its placement forbade it; for the validator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from surplus.placement.holds import home_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem, link_name
from surplus.placement.timeline import Span


def hold_faults(
    problem: Problem,
    placement: Placement,
    tasks: Mapping[int, Span],
    copies: Mapping[tuple[int, str], Span],
) -> Iterator[str]:
    """Each in words.

    Parameters
    ----------
    tasks : mapping of int to Span
        Of one query, by task.
    copies : mapping of (int, str) to Span
        By tensor and name of the link.
    """
    for hold in placement.holds:
        span, elder = tasks.get(hold.task), problem.tasks[hold.elder].name
        memory = problem.devices[placement.device_of[hold.elder]].memory
        for tensor in problem.inputs_of[hold.elder]:
            home = home_of(problem, placement, tensor)
            maker = tasks.get(problem.tensors[tensor].producer)
            source = copies.get((tensor, link_name(home, memory)), maker)
            if span is not None and source is not None and span.start_ns < source.end_ns:
                yield (
                    f"{span.name!r} is held behind {elder!r} and starts at {span.start_ns}, whose"
                    f" input {source.name!r} is there at {source.end_ns}"
                )
    for copy in placement.copy_holds:
        link = link_name(home_of(problem, placement, copy.tensor), copy.memory)
        span = copies.get((copy.tensor, link))
        maker = tasks.get(problem.tensors[copy.elder].producer)
        if span is not None and maker is not None and span.start_ns < maker.end_ns:
            yield (
                f"copy {span.name!r} is held behind that of {problem.tensors[copy.elder].name!r},"
                f" which is made at {maker.end_ns}, and starts at {span.start_ns}"
            )
