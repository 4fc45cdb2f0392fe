"""The least load of the busiest resource as a constraint program; needs OR-Tools.

x[i, d] puts task i on device d; y[t, s, m] copies tensor t from memory s to memory m, once however
many read it there. With D nanoseconds a query:

    sum_i service[i, d] width[i, d] x[i, d]  <=  lanes[d] D          (lanes)
    sum_i (submit[d] + launch[i, d]) x[i, d] + pageable copies  <=  D  (the submitting thread)
    sum_t hold[t, s, m] y[t, s, m]  <=  D                            (the link s -> m)
    sum of constants of the tasks in m, those they share once  <=  bytes[m]

No order and no instant occurs in it: what must come before what does not limit how many queries end
in a second, since others fill the gaps. So every D of a placement is at least the optimum of this
program, and a periodic schedule shows that it can be attained (``placement/periodic.py``).

References
----------
Lazowska et al., as ``placement/occupancy.py``; Tarnawski et al.: Efficient Algorithms for Device
Placement of DNN Graph Operators, NeurIPS 2020, section 5 (the max-load objective; departure: links
are resources of their own, and several lanes share a device's work).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from surplus.milp.cpsat import names
from surplus.milp.cpsat.or_tools import cp_model
from surplus.placement.memory import binding_capacities, own_bytes
from surplus.placement.occupancy import effective_lanes, off_host, thread_name
from surplus.placement.overflow import HOST
from surplus.placement.problem import Link, Problem

_LANE_PARTS = 1_000
"""Lanes that slow each other count as fewer: in these parts of one, rounded up, as bounds must."""

Term = tuple[int, cp_model.IntVar]


class LoadModel:
    """The program of one problem.

    Attributes
    ----------
    program : cp_model.CpModel
        Minimises the load, in nanoseconds a query.
    load : cp_model.IntVar
        What is minimised.
    placed : list of dict of int to cp_model.IntVar
        By task and device, 1 if it is there.
    variables : dict of str to cp_model.IntVar
        The same by name.
    resources : list of str
        Names of what the load is the most of, as ``placement/occupancy.py`` has them, in the order
        of the constraints that say so.
    """

    def __init__(self, problem: Problem) -> None:
        self.program = cp_model.CpModel()
        self._problem = problem
        self.placed = [
            {
                d: self.program.new_bool_var(names.placed(i, d))
                for d, service_ns in enumerate(task.service_ns)
                if service_ns is not None
            }
            for i, task in enumerate(problem.tasks)
        ]
        self.variables = {
            variable.name: variable for row in self.placed for variable in row.values()
        }
        self.resources: list[str] = []
        self._memories: dict[tuple[int, str], cp_model.IntVar | None] = {}
        self._threads: dict[int, list[Term]] = defaultdict(list)
        most_ns = sum(max(t or 0 for t in task.service_ns) for task in problem.tasks)
        self.load = self.program.new_int_var(0, most_ns + self._most_copies_ns(), "load")
        self.program.minimize(self.load)
        for row in self.placed:
            self.program.add_exactly_one(row.values())
        self._lanes()
        self._copies()
        self._submissions()
        self._constants()

    def _most_copies_ns(self) -> int:
        problem = self._problem
        holds = (
            max(link.hold_ns(tensor.size_bytes) for link in problem.links)
            for tensor in problem.tensors
            if problem.links and tensor.size_bytes
        )
        submits = sum(max(device.submit_ns for device in problem.devices) for _ in problem.tasks)
        launches = sum(max(task.launch_ns, default=0) for task in problem.tasks)
        return sum(holds) * len(problem.devices) + submits + launches

    def _lanes(self) -> None:
        for d, device in enumerate(self._problem.devices):
            parts = _LANE_PARTS if device.slowdown else 1
            lanes = -(-effective_lanes(device) * parts // 1)
            terms = [
                (parts * (task.service_ns[d] or 0) * task.width(d), row[d])
                for task, row in zip(self._problem.tasks, self.placed, strict=True)
                if d in row
            ]
            self._limit(device.name, terms, round(lanes))

    def _copies(self) -> None:
        """A copy is made where a reader is; each holds its link, a pageable one a thread, too."""
        by_link: dict[str, list[Term]] = defaultdict(list)
        for index, tensor in enumerate(self._problem.tensors):
            if tensor.size_bytes == 0:
                continue
            for link in self._problem.links:
                sent = self._sent(index, link)
                if sent is None:
                    continue
                term = (link.hold_ns(tensor.size_bytes), sent)
                by_link[link.name].append(term)
                if link.pageable:
                    self._pageable(link, term)
        for name, terms in by_link.items():
            self._limit(name, terms, 1)

    def _pageable(self, link: Link, term: Term) -> None:
        """It holds the thread of the device off the host; of the only one there, as bounds must."""
        away = off_host(self._problem, link)
        owners = [d for d, device in enumerate(self._problem.devices) if device.memory == away]
        if len(owners) == 1:
            self._threads[owners[0]].append(term)

    def _sent(self, index: int, link: Link) -> cp_model.IntVar | None:
        """1 if a tensor goes over a link; None if it never does."""
        tensor, host = self._problem.tensors[index], self._problem.devices[HOST].memory
        readers = [self._inside(task, link.target) for task in tensor.consumers]
        readers = [reader for reader in readers if reader is not None]
        is_answer = tensor.is_output and link.target == host
        if not (readers or is_answer):
            return None
        if tensor.producer < 0:
            if link.source != host:
                return None
            sent = self.program.new_bool_var("")
            for reader in readers:
                self.program.add_implication(reader, sent)
            return sent
        made = self._inside(tensor.producer, link.source)
        if made is None:
            return None
        if is_answer:
            return made
        sent = self.program.new_bool_var("")
        for reader in readers:
            self.program.add(sent >= made + reader - 1)
        return sent

    def _submissions(self) -> None:
        for d, device in enumerate(self._problem.devices):
            for task, row in zip(self._problem.tasks, self.placed, strict=True):
                busy_ns = device.submit_ns + task.launches_ns(d)
                if busy_ns and d in row:
                    self._threads[d].append((busy_ns, row[d]))
        for d, terms in self._threads.items():
            self._limit(thread_name(self._problem.devices[d]), terms, 1)

    def _constants(self) -> None:
        """Constants alone: how much data lies there at once is the schedule's, not the load's."""
        for memory, limit in binding_capacities(self._problem).items():
            terms: list[Term] = []
            holders: dict[int, list[cp_model.IntVar]] = defaultdict(list)
            for index, task in enumerate(self._problem.tasks):
                inside = self._inside(index, memory)
                if inside is None:
                    continue
                terms.append((own_bytes(self._problem, index), inside))
                for blob in task.blobs:
                    holders[blob].append(inside)
            for blob, tasks in holders.items():
                there = self.program.new_bool_var("")
                for inside in tasks:
                    self.program.add_implication(inside, there)
                terms.append((self._problem.blobs[blob].size_bytes, there))
            self.program.add(sum(size * variable for size, variable in terms) <= limit)

    def _inside(self, task: int, memory: str) -> cp_model.IntVar | None:
        """1 if the task runs on a device of that memory; None if it cannot."""
        key = (task, memory)
        if key not in self._memories:
            row, devices = self.placed[task], self._problem.devices
            places = [variable for d, variable in row.items() if devices[d].memory == memory]
            if len(places) > 1:
                any_of = self.program.new_bool_var("")
                self.program.add(any_of == sum(places))
                places = [any_of]
            self._memories[key] = places[0] if places else None
        return self._memories[key]

    def _limit(self, resource: str, terms: Sequence[Term], lanes: int) -> None:
        if terms:
            self.resources.append(resource)
            self.program.add(sum(ns * variable for ns, variable in terms) <= lanes * self.load)
