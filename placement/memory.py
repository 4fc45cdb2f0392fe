"""What lies in which memory, and when: weights throughout, tensors while they are needed.

A tensor takes room in its maker's memory from the maker's start, and in another memory from the
start of its copy there; in both until its last reader there is done, copies out of it included.
Graph inputs lie in the host's memory from the beginning, graph outputs there to the end of their
query. Where something ends at the instant at which something else starts, the room is free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from surplus.placement.evaluator import Schedule, schedule
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Span, SpanKind, Timeline


@dataclass(frozen=True, slots=True)
class Holding:
    """A tensor in a memory from ``start_ns`` until ``end_ns``."""

    tensor: int
    memory: str
    size_bytes: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class MemoryUse:
    """What a timeline needs of one memory.

    Parameters
    ----------
    weight_bytes : int
        Constants, there throughout.
    peak_bytes, peak_ns : int
        Most bytes at once, constants included, and when that is first so.
    tensors : tuple of int
        Indices of the tensors that lie there then, the largest first.
    """

    memory: str
    weight_bytes: int
    peak_bytes: int
    peak_ns: int
    tensors: tuple[int, ...]


def capacities(problem: Problem) -> dict[str, int]:
    """Bytes of each limited memory; of devices that share one the least counts."""
    found: dict[str, int] = {}
    for device in problem.devices:
        if device.memory_bytes is not None:
            found[device.memory] = min(device.memory_bytes, found.get(device.memory, 1 << 63))
    return found


def binding_capacities(problem: Problem) -> dict[str, int]:
    """Those limits that all weights and all tensors together would exceed."""
    everything = constant_bytes(problem, range(len(problem.tasks)))
    everything += sum(tensor.size_bytes for tensor in problem.tensors)
    return {memory: size for memory, size in capacities(problem).items() if everything > size}


def constant_bytes(problem: Problem, tasks: Iterable[int]) -> int:
    """Constants of the given tasks in one memory, those that they share counted once."""
    shared: set[int] = set()
    total = 0
    for task in tasks:
        total += own_bytes(problem, task)
        shared.update(problem.tasks[task].blobs)
    return total + sum(problem.blobs[blob].size_bytes for blob in shared)


def own_bytes(problem: Problem, task: int) -> int:
    """Constants that no other task can share."""
    spec = problem.tasks[task]
    return spec.weight_bytes - sum(problem.blobs[blob].size_bytes for blob in spec.blobs)


def working_bytes(problem: Problem, task: int) -> int:
    """What lies beside the constants while ``task`` runs: its inputs and its outputs."""
    touched = {*problem.inputs_of[task], *problem.outputs_of[task]}
    return sum(problem.tensors[index].size_bytes for index in touched)


def weights_of(problem: Problem, placement: Placement) -> dict[str, int]:
    """Bytes of constants in each memory."""
    tasks: dict[str, list[int]] = {device.memory: [] for device in problem.devices}
    for task, device in enumerate(placement.device_of):
        tasks[problem.devices[device].memory].append(task)
    return {memory: constant_bytes(problem, row) for memory, row in tasks.items()}


def memory_use(
    problem: Problem, placement: Placement, timeline: Timeline
) -> Mapping[str, MemoryUse]:
    """Peak of each memory over a timeline of one or more queries."""
    return _uses(problem, placement, holdings(problem, placement, timeline))


def simulated_use(problem: Problem, placement: Placement) -> Mapping[str, MemoryUse]:
    """``memory_use`` of ``simulate(problem, placement)``, by the native evaluator: many times as
    fast; errors as ``makespan_ns``.
    """
    found = schedule(problem, placement)
    return _uses(problem, placement, _Stays(problem, placement, _scheduled(problem, found)).all())


def _uses(
    problem: Problem, placement: Placement, held: Iterable[Holding]
) -> Mapping[str, MemoryUse]:
    rows: dict[str, list[Holding]] = defaultdict(list)
    for holding in held:
        rows[holding.memory].append(holding)
    weights = weights_of(problem, placement)
    return {memory: _use(memory, size, rows[memory]) for memory, size in weights.items()}


def _use(memory: str, weight_bytes: int, rows: list[Holding]) -> MemoryUse:
    changes: dict[int, int] = defaultdict(int)
    for holding in rows:
        changes[holding.start_ns] += holding.size_bytes
        changes[holding.end_ns] -= holding.size_bytes
    now = peak = peak_ns = 0
    for instant in sorted(changes):
        now += changes[instant]
        if now > peak:
            peak, peak_ns = now, instant
    there = [h for h in rows if h.start_ns <= peak_ns < h.end_ns]
    there.sort(key=lambda h: (-h.size_bytes, h.tensor))
    return MemoryUse(
        memory, weight_bytes, weight_bytes + peak, peak_ns, tuple(h.tensor for h in there)
    )


def holdings(problem: Problem, placement: Placement, timeline: Timeline) -> Iterator[Holding]:
    """Every stay of a tensor in a memory; spans that the problem does not know are left out."""
    queries: dict[int, list[Span]] = defaultdict(list)
    for span in timeline:
        queries[span.query].append(span)
    for spans in queries.values():
        yield from _Stays(problem, placement, _ran(problem, spans)).all()


@dataclass(frozen=True, slots=True)
class _Query:
    """When the tasks of one query ran, and its copies: by tensor, with where they went."""

    tasks: Mapping[int, tuple[int, int]]
    copies: Mapping[int, Sequence[tuple[str, int, int]]]
    end_ns: int


def _ran(problem: Problem, spans: Iterable[Span]) -> _Query:
    tasks: dict[int, tuple[int, int]] = {}
    copies: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    end_ns = 0
    for span in spans:
        end_ns = max(end_ns, span.end_ns)
        if span.kind is not SpanKind.COPY:
            tasks[span.index] = (span.start_ns, span.end_ns)
        elif (link := problem.links_by_name.get(span.resource)) is not None:
            copies[span.index].append((link.target, span.start_ns, span.end_ns))
    return _Query(tasks, copies, end_ns)


def _scheduled(problem: Problem, found: Schedule) -> _Query:
    times = zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    copies: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    for tensor, link, _, start_ns, end_ns in found.copies.tolist():
        copies[tensor].append((problem.links[link].target, start_ns, end_ns))
    last_ns = max((end for rows in copies.values() for _, _, end in rows), default=0)
    return _Query(dict(enumerate(times)), copies, max(last_ns, int(found.end_ns.max(initial=0))))


class _Stays:
    """The stays of one query's tensors."""

    def __init__(self, problem: Problem, placement: Placement, query: _Query) -> None:
        self._problem = problem
        self._host = problem.devices[0].memory
        self._memory = [problem.devices[d].memory for d in placement.device_of]
        self._query = query

    def all(self) -> Iterator[Holding]:
        """By tensor: at home, then where it is copied to."""
        for index, tensor in enumerate(self._problem.tensors):
            if tensor.size_bytes == 0:
                continue
            given = tensor.producer < 0
            made = self._query.tasks.get(tensor.producer)
            copies = self._query.copies.get(index, ())
            if given or made is not None:
                home = self._host if given else self._memory[tensor.producer]
                start_ns, end_ns = made or (0, 0)
                leaves_ns = max((copied_ns for _, _, copied_ns in copies), default=0)
                yield self._stay(index, home, start_ns, max(end_ns, leaves_ns))
            for target, start_ns, end_ns in copies:
                yield self._stay(index, target, start_ns, end_ns)

    def _stay(self, index: int, memory: str, start_ns: int, least_ns: int) -> Holding:
        tensor, end_ns = self._problem.tensors[index], least_ns
        for task in tensor.consumers:
            if self._memory[task] == memory and task in self._query.tasks:
                end_ns = max(end_ns, self._query.tasks[task][1])
        if tensor.is_output and memory == self._host:
            end_ns = max(end_ns, self._query.end_ns)
        return Holding(index, memory, tensor.size_bytes, start_ns, end_ns)
