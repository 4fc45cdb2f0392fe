"""The constraint program: optional intervals on devices and links; needs OR-Tools.

A task has one start, one end, and one optional interval per device and width there, of which one is
present. A copy has an optional interval on its link, present where its producer and a consumer are
at its two ends. Times are whole units, see ``CpSatInstance``. Unlike the integer program it keeps
all copies over one link apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surplus.milp.closure import Bits, members
from surplus.milp.cpsat import names
from surplus.milp.cpsat.instance import CpSatInstance
from surplus.milp.cpsat.links import LinkCopies
from surplus.milp.cpsat.or_tools import cp_model
from surplus.milp.cpsat.room import limit_memories
from surplus.milp.load_cuts import LoadCut, load_cuts
from surplus.milp.reductions import reduce_problem
from surplus.placement.widths import times_at

GATED_QUANTILES = 12
"""Heads and tails for gated loads, see ``load_cuts``: more than an integer program can bear."""


@dataclass(frozen=True)
class Mode:
    """A task on so many lanes of a device, for so many units; ``chosen`` is 1 if it is."""

    chosen: cp_model.IntVar
    width: int
    length: int


class ConstraintModel:
    """The program of one instance.

    Parameters
    ----------
    instance : CpSatInstance
        Problem, upper bound and unit of time.

    Attributes
    ----------
    program : cp_model.CpModel
        What CP-SAT solves.
    variables : dict of str to cp_model.IntVar
        All variables that a start may set and an answer has, by name.
    """

    def __init__(self, instance: CpSatInstance) -> None:
        self.problem = instance.problem
        self.scaled = instance.scaled
        self.program = cp_model.CpModel()
        self.variables: dict[str, cp_model.IntVar] = {}
        self._latest = instance.scaled(instance.upper_ns)
        self._reduced = reduce_problem(instance.problem, instance.upper_ns)
        self._windows = self._reduced.windows
        self._tasks = range(len(self.problem.tasks))
        self._inside: dict[tuple[int, str], cp_model.IntVar | None] = {}
        self._used: dict[int, dict[Bits, cp_model.IntVar]] = {}
        self.makespan = self.time(names.MAKESPAN)
        self.program.add(self.makespan >= instance.scaled(instance.lower_ns))
        self._x = {
            (i, d): self.boolean(names.placed(i, d)) for i in self._tasks for d in self._devices(i)
        }
        self._modes = {(i, d): self._make_modes(i, d) for i, d in self._x}
        self.start = [self.time(names.start(i)) for i in self._tasks]
        self.end = [self.time(names.end(i)) for i in self._tasks]
        self._objective()
        self._placement()
        self._lanes()
        limit_memories(self, instance.room)
        self._precedence()
        LinkCopies(self)
        self._loads()

    def time(self, name: str) -> cp_model.IntVar:
        """A variable for an instant within the upper bound."""
        self.variables[name] = self.program.new_int_var(0, self._latest, name)
        return self.variables[name]

    def boolean(self, name: str) -> cp_model.IntVar:
        """A variable that is 0 or 1."""
        self.variables[name] = self.program.new_bool_var(name)
        return self.variables[name]

    def inside(self, task: int, memory: str) -> cp_model.IntVar | None:
        """1 if the task runs on a device of that memory; None if it cannot."""
        if (task, memory) not in self._inside:
            self._inside[task, memory] = self._make_inside(task, memory)
        return self._inside[task, memory]

    def _make_inside(self, task: int, memory: str) -> cp_model.IntVar | None:
        devices = self.problem.devices
        places = [self._x[task, d] for d in self._devices(task) if devices[d].memory == memory]
        if len(places) < 2:
            return places[0] if places else None
        any_of = self.program.new_bool_var(f"m_{task}_{memory}")
        self.program.add(any_of == sum(places))
        return any_of

    def _make_modes(self, task: int, device: int) -> list[Mode]:
        """The widths that a task may take on a device, one of them if it runs there."""
        x, machine = self._x[task, device], self.problem.devices[device]
        lengths = {
            width: self.scaled(machine.least_ns(ns, width))
            for width, ns in times_at(self.problem.tasks[task], device)
        }
        if len(lengths) == 1:
            return [Mode(x, width, length) for width, length in lengths.items()]
        modes = [
            Mode(self.boolean(names.width(task, device, width)), width, length)
            for width, length in lengths.items()
        ]
        self.program.add(sum(mode.chosen for mode in modes) == x)
        return modes

    def _objective(self) -> None:
        """The makespan covers each task's end and what must come after it."""
        self.program.minimize(self.makespan)
        for i in self._tasks:
            tails = self._windows.tail_ns[i]
            tail = sum(self.scaled(tails[d]) * self._x[i, d] for d in self._devices(i))
            self.program.add(self.makespan >= self.end[i] + tail)

    def _placement(self) -> None:
        """Each task runs on one device at one width, no earlier than its inputs can be there."""
        for i in self._tasks:
            self.program.add_exactly_one(self._x[i, d] for d in self._devices(i))
            heads = self._windows.head_ns[i]
            head = sum(self.scaled(heads[d]) * self._x[i, d] for d in self._devices(i))
            self.program.add(self.start[i] >= head)
            modes = [mode for d in self._devices(i) for mode in self._modes[i, d]]
            length = sum(mode.length * mode.chosen for mode in modes)
            self.program.add(self.end[i] == self.start[i] + length)

    def _lanes(self) -> None:
        """Tasks that share a lane run one after the other.

        Of several lanes each task takes some of its own, since a cumulative constraint alone
        overlooks that a task of no length needs one; but only that constraint sees early that
        the tasks of a device are too many for the time that is left.
        """
        for d, device in enumerate(self.problem.devices):
            modes = {i: self._modes[i, d] for i in self._tasks if (i, d) in self._x}
            if device.lanes == 1:
                intervals = [self._interval(i, mode) for i, row in modes.items() for mode in row]
                self.program.add_no_overlap(intervals)
            elif sum(max(mode.width for mode in row) for row in modes.values()) > device.lanes:
                self._take_lanes(d, modes)
                intervals = [self._interval(i, mode) for i, row in modes.items() for mode in row]
                widths = [mode.width for row in modes.values() for mode in row]
                self.program.add_cumulative(intervals, widths, device.lanes)

    def _take_lanes(self, device: int, modes: Mapping[int, Sequence[Mode]]) -> None:
        """Each task takes as many lanes as it is wide.

        Lanes are alike, so a lane is for tasks up to which, by index, the lane below was used.
        """
        below: dict[int, cp_model.IntVar] = {}
        taken: dict[int, list[cp_model.IntVar]] = {i: [] for i in modes}
        for lane in range(self.problem.devices[device].lanes):
            here = {i: self.boolean(names.lane(i, device, lane)) for i in modes}
            self.program.add_no_overlap(
                self._lane_interval(i, modes[i], z) for i, z in here.items()
            )
            for i, z in here.items():
                taken[i].append(z)
                self.program.add_implication(z, self._x[i, device])
                if lane:
                    self.program.add_bool_or([~z, *(below[j] for j in modes if j <= i)])
            below = here
        for i, row in taken.items():
            self.program.add(sum(row) == sum(mode.width * mode.chosen for mode in modes[i]))

    def _interval(self, task: int, mode: Mode) -> cp_model.IntervalVar:
        return self.program.new_optional_interval_var(
            self.start[task], mode.length, self.end[task], mode.chosen, ""
        )

    def _lane_interval(
        self, task: int, modes: Sequence[Mode], held: cp_model.IntVar
    ) -> cp_model.IntervalVar:
        """The task on one lane, at whichever width."""
        if len(modes) == 1:
            return self._interval(task, Mode(held, modes[0].width, modes[0].length))
        lengths = [mode.length for mode in modes]
        length = self.program.new_int_var(min(lengths), max(lengths), "")
        return self.program.new_optional_interval_var(
            self.start[task], length, self.end[task], held, ""
        )

    def _precedence(self) -> None:
        """A task starts once its predecessors are done."""
        for i in self._tasks:
            for j in self.problem.predecessors[i]:
                self.program.add(self.start[i] >= self.end[j])

    def _loads(self) -> None:
        """What lies between two instants takes at least its work over the lanes."""
        cuts = load_cuts(self.problem, self._windows, GATED_QUANTILES)
        # The small ones first: what gates them gates what contains them, too.
        for cut in sorted(cuts, key=lambda cut: len(cut.tasks)):
            self._load(cut)

    def _load(self, cut: LoadCut) -> None:
        begin = 0 if cut.after is None else self.end[cut.after]
        end = self.makespan if cut.before is None else self.start[cut.before]
        modes = [mode for i in cut.tasks for mode in self._modes.get((i, cut.device), ())]
        work = cp_model.LinearExpr.weighted_sum(
            [mode.chosen for mode in modes], [mode.length * mode.width for mode in modes]
        )
        margin = self.scaled(cut.head_ns) + self.scaled(cut.tail_ns)
        lanes = self.problem.devices[cut.device].lanes
        held = self._any_of(cut) if cut.gated else 1
        self.program.add(lanes * (end - begin - margin * held) >= work)

    def _any_of(self, cut: LoadCut) -> cp_model.IntVar:
        """1 if any of the tasks runs on the device."""
        bits = sum(1 << i for i in cut.tasks)
        known = self._used.setdefault(cut.device, {})
        if bits not in known:
            used = self.program.new_bool_var("")
            within = max((b for b in known if b & ~bits == 0), key=int.bit_count, default=0)
            if within:
                self.program.add_implication(known[within], used)
            for i in members(bits & ~within):
                self.program.add_implication(self._x[i, cut.device], used)
            known[bits] = used
        return known[bits]

    def _devices(self, task: int) -> tuple[int, ...]:
        return self._windows.devices[task]
