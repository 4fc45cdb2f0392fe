"""What it costs to bring a task its data and to take its results away."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.placement.overflow import HOST
from surplus.placement.problem import Problem


def communication_ns(problem: Problem, devices: Sequence[int], task: int) -> int:
    """Copies of all that ``task`` reads and makes, if tasks run on ``devices``.

    An input costs one copy if its producer is in another memory, an output one copy for each
    other memory that has a consumer, or the host where it is an output of the graph.
    """
    here = devices[task]
    total_ns = 0
    for index in problem.inputs_of[task]:
        tensor = problem.tensors[index]
        source = HOST if tensor.producer < 0 else devices[tensor.producer]
        total_ns += problem.copy_ns(source, here, tensor.size_bytes)
    for index in problem.outputs_of[task]:
        tensor = problem.tensors[index]
        readers = [devices[consumer] for consumer in tensor.consumers]
        targets = {problem.devices[d].memory: d for d in readers + [HOST] * tensor.is_output}
        total_ns += sum(problem.copy_ns(here, d, tensor.size_bytes) for d in targets.values())
    return total_ns
