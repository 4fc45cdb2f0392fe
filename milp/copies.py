"""Copies that meet on a link: which ones a solution makes, and which of them overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from surplus.placement.problem import Link, Problem


@dataclass(frozen=True, order=True)
class LinkCopy:
    """A tensor's way over a link.

    Parameters
    ----------
    tensor : int
        Index of the tensor.
    source, target : str
        Memory spaces.
    """

    tensor: int
    source: str
    target: str


CopyPair = tuple[LinkCopy, LinkCopy]
"""Two copies over one link, the smaller first."""


def link_of(problem: Problem, copy: LinkCopy) -> Link:
    """The link that a copy takes."""
    wanted = (copy.source, copy.target)
    return next(link for link in problem.links if (link.source, link.target) == wanted)


def copies_of(problem: Problem, device_of: Sequence[int]) -> Iterator[LinkCopy]:
    """Copies that a placement needs."""
    memory = [problem.devices[d].memory for d in device_of]
    host = problem.devices[0].memory
    for index, tensor in enumerate(problem.tensors):
        home = host if tensor.producer < 0 else memory[tensor.producer]
        targets = {memory[task] for task in tensor.consumers}
        if tensor.is_output:
            targets.add(host)
        if tensor.size_bytes:
            yield from (LinkCopy(index, home, target) for target in sorted(targets - {home}))


def overlaps(problem: Problem, starts_ns: Mapping[LinkCopy, float]) -> frozenset[CopyPair]:
    """Pairs that hold one link at once if copies start as given."""
    by_link: dict[tuple[str, str], list[LinkCopy]] = defaultdict(list)
    for copy in starts_ns:
        by_link[copy.source, copy.target].append(copy)
    return frozenset(
        (a, b)
        for row in by_link.values()
        for a, b in combinations(sorted(row), 2)
        if starts_ns[a] < starts_ns[b] + _hold_ns(problem, b)
        and starts_ns[b] < starts_ns[a] + _hold_ns(problem, a)
    )


def _hold_ns(problem: Problem, copy: LinkCopy) -> int:
    return link_of(problem, copy).hold_ns(problem.tensors[copy.tensor].size_bytes)
