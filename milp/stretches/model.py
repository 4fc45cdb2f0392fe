"""The constraint program of a stretch; needs OR-Tools.

Each task takes one device at one width, each copy its link, as in ``milp/cpsat``, but between what
stays put before and what keeps its distance from the end of the query. No cuts and no bounds: it is
there for plans, which are judged as all are.
"""

from __future__ import annotations

from collections import defaultdict

from surplus.milp.copies import LinkCopy
from surplus.milp.cpsat import names
from surplus.milp.cpsat.or_tools import cp_model
from surplus.milp.stretches.stretch import FreeTask, LaneRoom, LinkRoom, Parcel, PlanStretch


class StretchModel:
    """The program of one stretch.

    Attributes
    ----------
    program : cp_model.CpModel
        What CP-SAT solves.
    variables : dict of str to cp_model.IntVar
        All variables that a start may set and an answer has, by name.
    """

    def __init__(self, stretch: PlanStretch) -> None:
        self.program = cp_model.CpModel()
        self.variables: dict[str, cp_model.IntVar] = {}
        self._stretch = stretch
        self._makespan = self._time(names.MAKESPAN)
        self.program.add(self._makespan >= stretch.floor_ns)
        self.program.minimize(self._makespan)
        self._start = {task.index: self._time(names.start(task.index)) for task in stretch.tasks}
        self._end = {task.index: self._time(names.end(task.index)) for task in stretch.tasks}
        self._within: dict[tuple[int, str], cp_model.IntVar] = {}
        self._length: dict[int, cp_model.IntVar] = {}
        self._chosen: dict[tuple[int, int], list[tuple[cp_model.IntVar, int]]] = {}
        for task in stretch.tasks:
            self._choose(task)
        rooms: dict[int, list[LaneRoom]] = defaultdict(list)
        for room in stretch.lanes:
            rooms[room.device].append(room)
        for device, lanes in rooms.items():
            self._take_lanes(device, lanes)
        self._sent: dict[str, list[cp_model.IntervalVar]] = defaultdict(list)
        self._rooms = {(room.link.source, room.link.target): room for room in stretch.links}
        for parcel in stretch.parcels:
            self._bring(parcel)
        for link in stretch.links:
            self._share(link)

    def _time(self, name: str) -> cp_model.IntVar:
        self.variables[name] = self.program.new_int_var(0, self._stretch.upper_ns, name)
        return self.variables[name]

    def _boolean(self, name: str) -> cp_model.IntVar:
        self.variables[name] = self.program.new_bool_var(name)
        return self.variables[name]

    def _choose(self, task: FreeTask) -> None:
        """One device and one width."""
        lengths = [mode.length_ns for mode in task.modes]
        length = self.program.new_int_var(min(lengths), max(lengths), "")
        literals = [self._boolean(names.width(task.index, m.device, m.width)) for m in task.modes]
        self.program.add_exactly_one(literals)
        for mode, literal in zip(task.modes, literals, strict=True):
            row = self._chosen.setdefault((task.index, mode.device), [])
            row.append((literal, mode.width))
        self._length[task.index] = length
        chosen = cp_model.LinearExpr.weighted_sum(literals, lengths)
        self.program.add(length == chosen)
        self.program.add(self._end[task.index] == self._start[task.index] + chosen)
        self.program.add(self._makespan >= self._end[task.index])

    def _take_lanes(self, device: int, lanes: list[LaneRoom]) -> None:
        """Each task takes as many as it is wide, of those that are free then."""
        here = [task.index for task in self._stretch.tasks if (task.index, device) in self._chosen]
        taken: dict[int, list[cp_model.IntVar]] = {task: [] for task in here}
        for lane, room in enumerate(lanes):
            intervals = []
            for task in here:
                held = self._boolean(names.lane(task, device, lane))
                taken[task].append(held)
                start, end = self._start[task], self._end[task]
                self.program.add(start >= room.free_ns).only_enforce_if(held)
                self.program.add(self._makespan >= end + room.rest_ns).only_enforce_if(held)
                intervals.append(
                    self.program.new_optional_interval_var(start, self._length[task], end, held, "")
                )
            self.program.add_no_overlap(intervals)
        for task, row in taken.items():
            width = sum(width * literal for literal, width in self._chosen[task, device])
            self.program.add(sum(row) == width)

    def _bring(self, parcel: Parcel) -> None:
        """A tensor comes to where it is read."""
        if parcel.size_bytes == 0:
            self._order(parcel)
            return
        there = {instant.memory: instant.at_ns for instant in parcel.there}
        wanted = {instant.memory: instant.at_ns for instant in parcel.wanted}
        for target in sorted({*self._stretch.memories}):
            readers = [(task, self._inside(task, target)) for task in parcel.readers]
            if target in there:
                for task, literal in readers:
                    late = self.program.add(self._start[task] >= there[target])
                    late.only_enforce_if(literal)
            elif parcel.maker < 0:
                self._copy(parcel, parcel.there[0].memory, target, readers, wanted.get(target))
            else:
                for source in sorted({*self._stretch.memories}):
                    self._copy(parcel, source, target, readers, wanted.get(target))

    def _order(self, parcel: Parcel) -> None:
        """A tensor without bytes is everywhere at once."""
        made = self._made(parcel)
        for task in parcel.readers:
            self.program.add(self._start[task] >= made)
        for instant in parcel.wanted:
            self.program.add(self._makespan >= made + instant.at_ns)

    def _made(self, parcel: Parcel) -> cp_model.LinearExprT:
        return self._end[parcel.maker] if parcel.maker >= 0 else parcel.there[0].at_ns

    def _inside(self, task: int, memory: str) -> cp_model.IntVar:
        """1 if a task works in a memory."""
        if (task, memory) not in self._within:
            literal = self._within[task, memory] = self.program.new_bool_var("")
            modes = (
                chosen
                for device, its in enumerate(self._stretch.memories)
                if its == memory
                for chosen, _ in self._chosen.get((task, device), ())
            )
            self.program.add(literal == sum(modes))
        return self._within[task, memory]

    def _copy(
        self,
        parcel: Parcel,
        source: str,
        target: str,
        readers: list[tuple[int, cp_model.IntVar]],
        rest_ns: int | None,
    ) -> None:
        """Of what is made in ``source``, if it is, and read or wanted in ``target``."""
        made = self._made(parcel)
        leaves = self._inside(parcel.maker, source) if parcel.maker >= 0 else None
        if source == target:
            arrival, needed = made, leaves
        else:
            if not readers and rest_ns is None:
                return
            copy = LinkCopy(parcel.tensor, source, target)
            needed, sent = self._boolean(names.needed(copy)), self._time(names.sent(copy))
            self._need(needed, leaves, [literal for _, literal in readers], rest_ns)
            arrival = self._send(copy, parcel.size_bytes, needed, sent)
            self.program.add(sent >= made).only_enforce_if(needed)
        assert needed is not None
        for task, literal in readers:
            late = self.program.add(self._start[task] >= arrival)
            late.only_enforce_if([needed, literal])
        if rest_ns is not None:
            self.program.add(self._makespan >= arrival + rest_ns).only_enforce_if(needed)

    def _need(
        self,
        needed: cp_model.IntVar,
        leaves: cp_model.IntVar | None,
        readers: list[cp_model.IntVar],
        rest_ns: int | None,
    ) -> None:
        """A copy is made if its tensor leaves there and anyone is here."""
        away = [] if leaves is None else [~leaves]
        if leaves is not None:
            self.program.add_implication(needed, leaves)
        if rest_ns is not None:
            self.program.add_bool_or([needed, *away])
            return
        self.program.add_bool_or([~needed, *readers])
        for literal in readers:
            self.program.add_bool_or([needed, ~literal, *away])

    def _send(
        self, copy: LinkCopy, size_bytes: int, needed: cp_model.IntVar, sent: cp_model.IntVar
    ) -> cp_model.LinearExprT:
        """Over its link within the room that there is; returns when it arrives."""
        room = self._rooms[copy.source, copy.target]
        hold_ns = room.link.hold_ns(size_bytes)
        self._sent[room.link.name].append(
            self.program.new_optional_fixed_size_interval_var(sent, hold_ns, needed, "")
        )
        self.program.add(sent >= room.free_ns).only_enforce_if(needed)
        over = self.program.add(self._makespan >= sent + hold_ns + room.rest_ns)
        over.only_enforce_if(needed)
        return sent + room.link.copy_ns(size_bytes)

    def _share(self, room: LinkRoom) -> None:
        """A link carries one copy at a time, those included that stay put."""
        rows = self._sent[room.link.name]
        for held in room.held:
            at = self._makespan - held.at_ns if held.is_after else held.at_ns
            rows.append(self.program.new_fixed_size_interval_var(at, held.hold_ns, ""))
            if not held.is_after:
                self.program.add(self._makespan >= held.at_ns + held.hold_ns + room.rest_ns)
        if len(rows) > 1:
            self.program.add_no_overlap(rows)
