"""Width of a partial order: the most tasks that may run at once."""

from __future__ import annotations

from collections.abc import Sequence


def levels(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Longest-path depth of each task, sources at 0; tasks in topological order."""
    depth: list[int] = []
    for before in predecessors:
        depth.append(max((depth[b] + 1 for b in before), default=0))
    return depth


def widest_level(predecessors: Sequence[Sequence[int]]) -> int:
    """Most tasks of one depth: an antichain, hence a lower bound of the largest one."""
    counts: dict[int, int] = {}
    for depth in levels(predecessors):
        counts[depth] = counts.get(depth, 0) + 1
    return max(counts.values(), default=0)


def largest_antichain(predecessors: Sequence[Sequence[int]]) -> int:
    """Size of the largest set of pairwise independent tasks.

    Dilworth: tasks minus a maximum matching of the reachability relation, here by Hopcroft and
    Karp's phases over bit sets. O(n^2.5 / word) in practice far below.

    Parameters
    ----------
    predecessors : sequence of sequence of int
        By task, in topological order.
    """
    reach = _reachable(predecessors)
    partner_of_right = [-1] * len(reach)
    matched_left = [False] * len(reach)
    while True:
        unseen = (1 << len(reach)) - 1
        grown = 0
        for left in range(len(reach)):
            if matched_left[left]:
                continue
            found, unseen = _augment(left, reach, partner_of_right, unseen)
            matched_left[left] = found
            grown += found
        if not grown:
            return len(reach) - sum(matched_left)


def _reachable(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Bit set of the tasks that come after each task."""
    reach = [0] * len(predecessors)
    for task in range(len(predecessors) - 1, -1, -1):
        for before in predecessors[task]:
            reach[before] |= reach[task] | 1 << task
    return reach


def _augment(root: int, reach: list[int], partner: list[int], unseen: int) -> tuple[bool, int]:
    """One alternating path from ``root``, depth first, each right vertex once a phase."""
    path: list[tuple[int, int]] = []
    left = root
    while True:
        options = reach[left] & unseen
        if not options:
            if not path:
                return False, unseen
            left = path.pop()[0]
            continue
        right = (options & -options).bit_length() - 1
        unseen &= ~(1 << right)
        path.append((left, right))
        if partner[right] < 0:
            for owner, taken in path:
                partner[taken] = owner
            return True, unseen
        left = partner[right]
