"""Random holds for placements of any problem: such as can be kept, some needed, most not."""

from collections import defaultdict
from dataclasses import replace
from random import Random

from surplus.milp.copies import copies_of
from surplus.placement.holds import CopyHold, Hold, copy_rank
from surplus.placement.placement import Placement
from surplus.placement.topological_ranks import topological_ranks


def topological(problem, seed):
    """Any device that can run a task, and priorities in which no task is before its inputs."""
    random = Random(seed)
    device_of = tuple(
        random.choice([d for d, ns in enumerate(task.service_ns) if ns is not None])
        for task in problem.tasks
    )
    ranks = topological_ranks(problem, lambda task: random.random())
    return Placement(device_of, ranks, "at random")


def held(problem, seed, share=0.3):
    """``topological`` with holds of about so many of its tasks and copies."""
    random, placement = Random(seed + 1), topological(problem, seed)
    tasks, links = defaultdict(list), defaultdict(list)
    for task in sorted(range(len(placement.priority)), key=placement.priority.__getitem__):
        tasks[placement.device_of[task]].append(task)
    for copy in copies_of(problem, placement.device_of):
        links[copy.source, copy.target].append(copy.tensor)
    for (_, target), row in links.items():
        row.sort(key=lambda tensor, to=target: copy_rank(problem, placement, tensor, to))
    return replace(
        placement,
        holds=tuple(Hold(a, b) for row in tasks.values() for a, b in pairs(random, row, share)),
        copy_holds=tuple(
            CopyHold(a, b, target)
            for (_, target), row in links.items()
            for a, b in pairs(random, row, share)
        ),
    )


def pairs(random, row, share):
    """An earlier one for about so many of a row."""
    for place, item in enumerate(row):
        if place and random.random() < share:
            yield random.choice(row[:place]), item
