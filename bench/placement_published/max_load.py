"""The least largest load under the published rules (rules.py), by CP-SAT, contiguous or not.

Contiguous: devices stand in a line, each class has a place in it, and along a forward edge places
never fall. One of the places is the CPU's, which one is the solver's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from ortools.sat.python import cp_model

from bench.placement_published.rules import CPU, Folded, Output, faults, is_contiguous, loads_ns
from surplus.placement import check_bound

_THREADS = 2


@dataclass(frozen=True)
class MaxLoad:
    """What was found.

    Parameters
    ----------
    load_ns : int or None
        The largest of any device, counted anew; None if nothing was found.
    bound_ns : int
        No assignment's is less.
    is_proven : bool
        Whether the solver says that both are the same.
    device_of : tuple of int
        Of each class.
    took_s : float
    """

    load_ns: int | None
    bound_ns: int
    is_proven: bool
    device_of: tuple[int, ...]
    took_s: float


def least_max_load(
    problem: Folded, time_s: float, *, contiguous: bool, start: Sequence[int] = ()
) -> MaxLoad:
    """Search for so many seconds.

    Parameters
    ----------
    start : sequence of int
        An assignment to begin with; contiguous if what is searched for is.

    Raises
    ------
    ContradictionError
        If the solver's bound is above what it found.
    """
    began_s = monotonic()
    program = _Program(problem, contiguous=contiguous)
    program.begin_with(start)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = _THREADS
    solver.parameters.random_seed = 0
    # Without it OR-Tools 9.15 says of one published network that thirty times its least is optimal.
    solver.parameters.keep_all_feasible_solutions_in_presolve = True
    solver.parameters.max_time_in_seconds = max(0.001, time_s - (monotonic() - began_s))
    status = solver.solve(program.model)
    took_s = monotonic() - began_s
    bound_ns = round(max(0.0, solver.best_objective_bound))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return MaxLoad(None, bound_ns, False, (), took_s)
    found = program.assignment(solver)
    assert not faults(problem, found)
    assert is_contiguous(problem, found) or not contiguous
    load_ns = max(loads_ns(problem, found).values(), default=0)
    check_bound(bound_ns, load_ns, problem.network.name)
    return MaxLoad(load_ns, bound_ns, status == cp_model.OPTIMAL, found, took_s)


class _Program:
    """Places 0 to ``accelerators``, of which one is the CPU's: the last, unless in a line."""

    def __init__(self, problem: Folded, *, contiguous: bool) -> None:
        self.model = cp_model.CpModel()
        self._problem = problem
        self._is_line = contiguous
        self._places = range(problem.network.accelerators + 1)
        rows = [[self.model.new_bool_var("") for _ in self._places] for _ in problem.classes]
        self._at = rows
        self._is_cpu = [self.model.new_bool_var("") for _ in self._places]
        self.model.add_exactly_one(self._is_cpu)
        for row in rows:
            self.model.add_exactly_one(row)
        if contiguous:
            self._keep_in_line()
        else:
            self.model.add(self._is_cpu[-1] == 1)
        self._limit()

    def begin_with(self, start: Sequence[int]) -> None:
        """Hint at an assignment."""
        if not start:
            return
        devices = [*range(self._problem.network.accelerators), CPU]
        order = _line(self._problem, start, devices) if self._is_line else devices
        place_of = {device: place for place, device in enumerate(order)}
        for place in self._places:
            self.model.add_hint(self._is_cpu[place], order[place] == CPU)
        for row, device in zip(self._at, start, strict=True):
            for place in self._places:
                self.model.add_hint(row[place], place_of[device] == place)

    def assignment(self, solver: cp_model.CpSolver) -> tuple[int, ...]:
        """Device of each class."""
        cpu = next(place for place in self._places if solver.value(self._is_cpu[place]))
        found = []
        for row in self._at:
            place = next(place for place in self._places if solver.value(row[place]))
            found.append(CPU if place == cpu else place - (place > cpu))
        return tuple(found)

    def _keep_in_line(self) -> None:
        up_to = []
        for row in self._at:
            reached = [self.model.new_bool_var("") for _ in self._places]
            for place in self._places:
                before = reached[place - 1] if place else 0
                self.model.add(reached[place] == before + row[place])
            up_to.append(reached)
        for source, target in self._problem.before:
            for place in self._places:
                self.model.add_implication(up_to[target][place], up_to[source][place])

    def _limit(self) -> None:
        classes, network = self._problem.classes, self._problem.network
        most_ns = sum(max(c.cpu_ns, c.accelerator_ns) for c in classes)
        most_ns += 2 * sum(output.move_ns for output in self._problem.outputs)
        load = self.model.new_int_var(0, most_ns, "")
        self.model.minimize(load)
        for place in self._places:
            cpu = self._is_cpu[place]
            here = [row[place] for row in self._at]
            computed = [(c.accelerator_ns, x) for c, x in zip(classes, here, strict=True)]
            moved = [(o.move_ns, self._moves(o, place)) for o in self._problem.outputs]
            self.model.add(_sum([*computed, *moved]) <= load).only_enforce_if(~cpu)
            alone = [(c.cpu_ns, x) for c, x in zip(classes, here, strict=True)]
            self.model.add(_sum(alone) <= load).only_enforce_if(cpu)
            sizes = [(c.size_bytes, x) for c, x in zip(classes, here, strict=True)]
            if sum(size for size, _ in sizes) > network.accelerator_bytes:
                held = self.model.add(_sum(sizes) <= network.accelerator_bytes)
                held.only_enforce_if(~cpu)
            for row, x in zip(classes, here, strict=True):
                if not row.on_accelerator:
                    self.model.add_implication(x, cpu)

    def _moves(self, output: Output, place: int) -> cp_model.IntVar:
        """1 if the output is brought to this place, or away from it."""
        moved = self.model.new_bool_var("")
        made = self._at[output.source][place]
        for reader in output.readers:
            read = self._at[reader][place]
            self.model.add(moved >= read - made)
            self.model.add(moved >= made - read)
        return moved


def _sum(terms: Sequence[tuple[int, cp_model.IntVar]]) -> cp_model.LinearExprT:
    factors, variables = [factor for factor, _ in terms], [variable for _, variable in terms]
    return cp_model.LinearExpr.weighted_sum(variables, factors)


def _line(problem: Folded, device_of: Sequence[int], devices: Sequence[int]) -> list[int]:
    """The devices in an order in which no forward edge leads back: there is one."""
    order: list[int] = []
    while len(order) < len(devices):
        waiting = {
            device_of[target]
            for source, target in problem.before
            if device_of[source] != device_of[target] and device_of[source] not in order
        }
        order.append(next(d for d in devices if d not in order and d not in waiting))
    return order
