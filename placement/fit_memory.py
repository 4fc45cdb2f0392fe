"""Moves tasks out of memories that a placement overfills.

What frees most of the excess per nanosecond that it costs goes first: the embedding tables of a
recommender long before its layers. Bytes are the constants of a task (a share of those that
others hold, too) and what it made that lies there at the peak. A task that left a memory does not
come back before all fits, so this ends; then the dearest moves are tried without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace

from surplus.placement.communication import communication_ns
from surplus.placement.evaluator import makespan_ns
from surplus.placement.memory import (
    MemoryUse,
    binding_capacities,
    constant_bytes,
    own_bytes,
    simulated_use,
    working_bytes,
)
from surplus.placement.memory_words import bytes_in_words, excess_in_words
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.room import fits
from surplus.placement.widths import widths_or_narrowest

_ROUNDS = 32
"""Where no move frees anything, this share of them is made at once: each round is a simulation."""

_RETURNS = 40
_DEAR = 0.002
"""How many of the dearest moves are tried without, a simulation each, and from which share of the
makespan on it is worth that."""

Banned = frozenset[tuple[int, str]]
"""Tasks and the memories that they have left."""


class InfeasibleError(ValueError):
    """No placement was found that the memories hold; the message says what is needed."""


@dataclass(frozen=True)
class Fitted:
    """A placement that fits, and what had to leave where for it."""

    placement: Placement
    banned: Banned


@dataclass(frozen=True)
class _Move:
    task: int
    source: int
    target: int
    freed_bytes: float
    lost_ns: int


def fit(problem: Problem, placement: Placement) -> Fitted:
    """Move tasks until the simulated query stays within all memories.

    Raises
    ------
    InfeasibleError
        If there is nothing left to move.
    """
    banned: set[tuple[int, str]] = set()
    made: list[_Move] = []
    while overfull := _overfull(problem, placement):
        use, capacity_bytes = max(
            overfull, key=lambda pair: (pair[0].peak_bytes - pair[1], pair[0].memory)
        )
        moves = list(_moves(problem, placement, use, banned))
        if not moves:
            raise InfeasibleError(_infeasible(problem, placement, use, capacity_bytes))
        chosen = _enough(moves, use.peak_bytes - capacity_bytes)
        made += chosen
        banned.update((move.task, use.memory) for move in chosen)
        placement = _moved(problem, placement, {move.task: move.target for move in chosen})
    return _returned(problem, Fitted(placement, frozenset(banned)), made)


def _moved(problem: Problem, placement: Placement, targets: Mapping[int, int]) -> Placement:
    """What moves is as narrow as it can be."""
    devices = tuple(targets.get(task, d) for task, d in enumerate(placement.device_of))
    stay = {t: width for t, width in enumerate(placement.width_of) if t not in targets}
    widths = widths_or_narrowest(problem, devices, stay) if stay else ()
    return replace(placement, device_of=devices, width_of=widths)


def _returned(problem: Problem, fitted: Fitted, made: list[_Move]) -> Fitted:
    """Undo the dearest of the moves that later ones have made dispensable."""
    worth_ns = _DEAR * makespan_ns(problem, fitted.placement) if made else 0
    dear = (move for move in made if move.lost_ns >= worth_ns)
    for move in sorted(dear, key=lambda move: (-move.lost_ns, move.task))[:_RETURNS]:
        back = _moved(problem, fitted.placement, {move.task: move.source})
        if fitted.placement.device_of[move.task] == move.target and fits(problem, back):
            left = (move.task, problem.devices[move.source].memory)
            fitted = Fitted(back, fitted.banned - {left})
    return fitted


def least_bytes(problem: Problem, memory: str) -> int:
    """What every placement needs of a memory: the tasks that can run nowhere else."""
    forced = [
        task
        for task, spec in enumerate(problem.tasks)
        if all(
            service_ns is None or problem.devices[d].memory == memory
            for d, service_ns in enumerate(spec.service_ns)
        )
    ]
    # A task of no length holds nothing for any time.
    longest = (working_bytes(problem, t) for t in forced if problem.fastest_ns(t) > 0)
    return constant_bytes(problem, forced) + max(longest, default=0)


def _overfull(problem: Problem, placement: Placement) -> list[tuple[MemoryUse, int]]:
    limits = binding_capacities(problem)
    if not limits:
        return []
    uses = simulated_use(problem, placement)
    return [(uses[m], limit) for m, limit in limits.items() if uses[m].peak_bytes > limit]


def _enough(moves: list[_Move], excess_bytes: int) -> list[_Move]:
    """Moves that free the excess, each the best for what then is left of it."""
    if not any(move.freed_bytes for move in moves):
        moves.sort(key=lambda move: (move.lost_ns, move.task))
        return moves[: -(-len(moves) // _ROUNDS)]
    left = float(excess_bytes)

    def key(move: _Move) -> tuple[float, int, int]:
        return -min(move.freed_bytes, left) / move.lost_ns, move.lost_ns, move.task

    waiting = [(key(move), move) for move in moves if move.freed_bytes]
    heapify(waiting)
    chosen: list[_Move] = []
    while waiting and left > 0:
        known, move = waiting[0]
        if (now := key(move)) > known:
            # Worth less than when it was filed, since less is left to free.
            heapreplace(waiting, (now, move))
            continue
        heappop(waiting)
        chosen.append(move)
        left -= move.freed_bytes
    return chosen


def _moves(
    problem: Problem, placement: Placement, use: MemoryUse, banned: set[tuple[int, str]]
) -> Iterator[_Move]:
    """For each task in the memory the cheapest way out, if there is one."""
    memory_of = [problem.devices[d].memory for d in placement.device_of]
    there = [task for task, memory in enumerate(memory_of) if memory == use.memory]
    holders = Counter(blob for task in there for blob in problem.tasks[task].blobs)
    made = Counter[int]()
    for index in use.tensors:
        made[problem.tensors[index].producer] += problem.tensors[index].size_bytes
    devices = list(placement.device_of)
    for task in there:
        freed = own_bytes(problem, task) + made[task]
        shares = sum(problem.blobs[b].size_bytes / holders[b] for b in problem.tasks[task].blobs)
        ways = list(_ways_out(problem, devices, task, use.memory, banned))
        if ways:
            lost_ns, target = min(ways)
            yield _Move(task, devices[task], target, freed + shares, max(1, lost_ns))


def _ways_out(
    problem: Problem, devices: list[int], task: int, memory: str, banned: set[tuple[int, str]]
) -> Iterator[tuple[int, int]]:
    """(time lost, device) on each device of another memory that may take the task."""
    here = devices[task]
    now_ns = _task_ns(problem, devices, task)
    for device, service_ns in enumerate(problem.tasks[task].service_ns):
        target = problem.devices[device].memory
        if service_ns is not None and target != memory and (task, target) not in banned:
            devices[task] = device
            yield _task_ns(problem, devices, task) - now_ns, device
            devices[task] = here


def _task_ns(problem: Problem, devices: list[int], task: int) -> int:
    service_ns = problem.tasks[task].service_ns[devices[task]] or 0
    return service_ns + communication_ns(problem, devices, task)


def _infeasible(problem: Problem, placement: Placement, use: MemoryUse, capacity_bytes: int) -> str:
    least = least_bytes(problem, use.memory)
    if least > capacity_bytes:
        return (
            f"memory {use.memory!r} has {bytes_in_words(capacity_bytes)}, but what runs only there"
            f" needs at least {bytes_in_words(least)}"
        )
    words = excess_in_words(problem, placement, use, capacity_bytes)
    needs = f"no placement needs less than {bytes_in_words(least)}"
    return f"no placement was found that fits; the closest: {words} ({needs})"
