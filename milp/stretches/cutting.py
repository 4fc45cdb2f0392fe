"""Cuts a stretch out of a plan, and puts an answer about it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from surplus.milp.copies import LinkCopy, copies_of
from surplus.milp.cpsat import names
from surplus.milp.incumbent import Incumbent, make_incumbent
from surplus.milp.stretches.orders import Node, PlannedOrders
from surplus.milp.stretches.stretch import (
    FreeTask,
    HeldLink,
    Instant,
    LaneRoom,
    LinkRoom,
    Parcel,
    PlanStretch,
    StretchMode,
)
from surplus.placement.widths import times_at

_ORIGIN = "cpsat"


@dataclass(frozen=True)
class StretchCut:
    """Tasks that follow one another in a plan's order, cut out of it.

    A copy is before the stretch if it was under way when that began or if who is before it reads
    it; free, if a task of the stretch makes or reads it, or if it is sent meanwhile; else after it.

    Parameters
    ----------
    orders : PlannedOrders
        The plan.
    first, end : int
        Places in its order, ``end`` excluded; at least one.
    """

    orders: PlannedOrders
    first: int
    end: int

    @property
    def tasks(self) -> tuple[int, ...]:
        """The free tasks, in the plan's order."""
        return self.orders.order[self.first : self.end]

    @cached_property
    def floor_ns(self) -> int:
        """No shorter becomes the plan by this stretch: the ways past it."""
        spans, rest = self.orders.spans, self.orders.rest_ns
        before = (span.end_ns for node, span in spans.items() if self._side(node) < 0)
        after = (rest[node] for node in spans if self._side(node) > 0)
        past = (
            spans[step.first].start_ns + step.lag_ns + rest[step.then]
            for step in self.orders.steps
            if self._side(step.first) < 0 < self._side(step.then)
        )
        rooms = (room.free_ns + room.rest_ns for room in self._lanes())
        return max(chain(before, after, past, rooms))

    def stretch(self) -> PlanStretch:
        """The question."""
        problem, parcels = self.orders.problem, tuple(self._parcels())
        return PlanStretch(
            memories=tuple(device.memory for device in problem.devices),
            tasks=tuple(FreeTask(task, tuple(self._modes(task))) for task in self.tasks),
            lanes=tuple(self._lanes()),
            parcels=parcels,
            links=tuple(self._link(link.name) for link in problem.links),
            floor_ns=self.floor_ns,
            upper_ns=self.orders.found.makespan_ns,
        )

    def start_values(self) -> dict[str, float]:
        """The plan as it is, in the terms of the program."""
        orders, values = self.orders, {names.MAKESPAN: float(self.orders.found.makespan_ns)}
        widths = orders.found.placement.widths(orders.problem)
        for task in self.tasks:
            device = orders.found.placement.device_of[task]
            values[names.width(task, device, widths[task])] = 1.0
            values[names.start(task)] = float(orders.spans[task].start_ns)
            values[names.end(task)] = float(orders.spans[task].end_ns)
            for lane in orders.spans[task].lanes:
                values[names.lane(task, device, lane)] = 1.0
        for row in orders.on_links.values():
            is_late = False  # Behind what keeps its distance from the end copies do, too.
            for copy in row:
                is_late = is_late or self._side(copy) > 0
                if self._side(copy) == 0:
                    late_ns = orders.found.makespan_ns - orders.rest_ns[copy]
                    values[names.needed(copy)] = 1.0
                    values[names.sent(copy)] = float(
                        late_ns if is_late else orders.spans[copy].start_ns
                    )
        return values

    def put_back(self, values: Mapping[str, float]) -> Incumbent:
        """The plan with an answer in it, everything as early as its orders allow."""
        orders = self.orders
        problem, placement = orders.problem, orders.found.placement
        makespan = values.get(names.MAKESPAN, 0.0)
        device_of, width_of = list(placement.device_of), dict(orders.found.width_of)
        starts = [self._kept_ns(task, makespan) for task in range(len(problem.tasks))]
        for task in self.tasks:
            modes = list(self._modes(task))
            chosen = max(modes, key=lambda m: values.get(names.width(task, m.device, m.width), 0.0))
            device_of[task] = chosen.device
            starts[task] = values.get(names.start(task), 0.0)
            if width_of:
                width_of[task] = chosen.width
        copies = {
            copy: self._kept_ns(copy, makespan)
            if copy in orders.spans and self._side(copy)
            else values.get(names.sent(copy), 0.0)
            for copy in copies_of(problem, device_of)
        }
        return make_incumbent(problem, device_of, starts, _ORIGIN, copies, width_of)

    def _kept_ns(self, node: Node, makespan: float) -> float:
        """When something begins that is before the stretch or after it."""
        if self._side(node) <= 0:
            return self.orders.spans[node].start_ns
        return makespan - self.orders.rest_ns[node]

    @cached_property
    def _begin_ns(self) -> int:
        return min(self.orders.spans[task].start_ns for task in self.tasks)

    @cached_property
    def _end_ns(self) -> int:
        return max(self.orders.spans[task].end_ns for task in self.tasks)

    def _side(self, node: Node) -> int:
        """-1 before the stretch, 0 in it, 1 after it."""
        if isinstance(node, LinkCopy):
            return self._sides[node]
        place = self.orders.rank[node]
        return (place >= self.end) - (place < self.first)

    @cached_property
    def _sides(self) -> dict[LinkCopy, int]:
        return {
            node: self._side_of(node) for node in self.orders.spans if not isinstance(node, int)
        }

    def _side_of(self, copy: LinkCopy) -> int:
        tensor, orders = self.orders.problem.tensors[copy.tensor], self.orders
        made = self._side(tensor.producer) if tensor.producer >= 0 else -1
        if made >= 0:
            return made
        if any(self._side(t) < 0 and orders.memory(t) == copy.target for t in tensor.consumers):
            return -1
        if any(self._side(task) == 0 for task in tensor.consumers):
            return 0
        if orders.spans[copy].start_ns < self._begin_ns:
            return -1
        # With one copy of a tensor all that come later are free.
        starts = (orders.spans[other].start_ns for other in orders.copies[copy.tensor])
        return 0 if any(self._begin_ns <= start < self._end_ns for start in starts) else 1

    @cached_property
    def _free_copies(self) -> tuple[LinkCopy, ...]:
        return tuple(copy for copy, side in self._sides.items() if side == 0)

    def _modes(self, task: int) -> Iterator[StretchMode]:
        for index, device in enumerate(self.orders.problem.devices):
            for width, ns in times_at(self.orders.problem.tasks[task], index):
                yield StretchMode(index, width, device.least_ns(ns, width))

    def _lanes(self) -> Iterator[LaneRoom]:
        spans, rest = self.orders.spans, self.orders.rest_ns
        for index, device in enumerate(self.orders.problem.devices):
            for lane in range(device.lanes):
                row = self.orders.on_lanes.get((device.name, lane), [])
                free_ns = max((spans[t].end_ns for t in row if self._side(t) < 0), default=0)
                rest_ns = max((rest[t] for t in row if self._side(t) > 0), default=0)
                yield LaneRoom(index, free_ns, rest_ns)

    def _parcels(self) -> Iterator[Parcel]:
        free, meanwhile = {*self.tasks}, {copy.tensor for copy in self._free_copies}
        for index, tensor in enumerate(self.orders.problem.tensors):
            readers = tuple(task for task in tensor.consumers if task in free)
            if tensor.producer in free or readers or index in meanwhile:
                maker = tensor.producer if tensor.producer in free else -1
                there = () if maker >= 0 else tuple(self._there(index))
                wanted = tuple(self._wanted(index))
                yield Parcel(index, tensor.size_bytes, maker, there, readers, wanted)

    def _there(self, tensor: int) -> Iterator[Instant]:
        """Home, and where copies that stay put have brought it."""
        orders, producer = self.orders, self.orders.problem.tensors[tensor].producer
        made_ns = orders.spans[producer].end_ns if producer >= 0 else 0
        yield Instant(orders.home(tensor), made_ns)
        for copy in orders.copies.get(tensor, ()):
            if self._side(copy) < 0:
                yield Instant(copy.target, orders.spans[copy].end_ns)

    def _wanted(self, index: int) -> Iterator[Instant]:
        """Where tasks after the stretch read it, and the host where it is an output."""
        tensor, orders = self.orders.problem.tensors[index], self.orders
        rest: dict[str, int] = {}
        if tensor.is_output:
            rest[orders.problem.devices[0].memory] = 0
        for task in tensor.consumers:
            if self._side(task) > 0:
                memory = orders.memory(task)
                rest[memory] = max(rest.get(memory, 0), orders.rest_ns[task])
        for memory, rest_ns in rest.items():
            yield Instant(memory, rest_ns)

    def _link(self, name: str) -> LinkRoom:
        """What stays put on a link, as far as copies of the stretch may meet it."""
        orders = self.orders
        row: Sequence[LinkCopy] = orders.on_links.get(name, ())
        free = [place for place, copy in enumerate(row) if self._side(copy) == 0]
        begin_ns = min([self._begin_ns, *(orders.spans[row[place]].start_ns for place in free)])
        last = max(free, default=-1)
        after = [place for place, copy in enumerate(row) if self._side(copy) > 0]
        end = next((place for place in after if place > last), len(row))
        held = [self._held(copy) for copy in row[:end] if self._side(copy)]
        over = [not h.is_after and h.at_ns + h.hold_ns <= begin_ns for h in held]
        past = [h.at_ns + h.hold_ns for h, is_over in zip(held, over, strict=True) if is_over]
        return LinkRoom(
            link=orders.problem.links_by_name[name],
            free_ns=max(past, default=0),
            held=tuple(h for h, is_over in zip(held, over, strict=True) if not is_over),
            rest_ns=max((orders.rest_ns[row[p]] for p in after if p >= end), default=0),
        )

    def _held(self, copy: LinkCopy) -> HeldLink:
        is_after = self._side(copy) > 0
        at_ns = self.orders.rest_ns[copy] if is_after else self.orders.spans[copy].start_ns
        return HeldLink(at_ns, self.orders.hold_ns(copy), is_after)
