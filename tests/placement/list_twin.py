"""List scheduling in plain Python, without any thought of time: the oracle of the native one."""

from copy import deepcopy
from itertools import product

from surplus.placement.widths import times_at

_NEVER = 1 << 62


def mean_upward_ranks(problem):
    """HEFT's equation 7."""
    pairs = list(product(range(len(problem.devices)), repeat=2))
    ranks = [0.0] * len(problem.tasks)
    for task in reversed(range(len(ranks))):
        after = 0.0
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            copies = [problem.copy_ns(a, b, tensor.size_bytes) for a, b in pairs]
            latest = max((ranks[consumer] for consumer in tensor.consumers), default=0.0)
            after = max(after, sum(copies) / len(pairs) + latest)
        known = [t for t in problem.tasks[task].service_ns if t is not None]
        ranks[task] = after + sum(known) / len(known)
    return ranks


def upward_ranks_ns(problem, device_of):
    """Longest way to the end of the query on the chosen devices."""
    ranks = [0] * len(problem.tasks)
    for task in reversed(range(len(ranks))):
        here, after_ns = device_of[task], 0
        for index in problem.outputs_of[task]:
            tensor = problem.tensors[index]
            if tensor.is_output:
                after_ns = max(after_ns, problem.copy_ns(here, 0, tensor.size_bytes))
            for consumer in tensor.consumers:
                copy_ns = problem.copy_ns(here, device_of[consumer], tensor.size_bytes)
                after_ns = max(after_ns, copy_ns + ranks[consumer])
        ranks[task] = after_ns + (problem.tasks[task].service_ns[here] or 0)
    return ranks


def ways_home_ns(problem):
    """Of outputs of the graph, by task and device."""
    return [
        [
            -1 if service_ns is None else _way_home_ns(problem, task, device)
            for device, service_ns in enumerate(spec.service_ns)
        ]
        for task, spec in enumerate(problem.tasks)
    ]


def _way_home_ns(problem, task, device):
    made = (problem.tensors[index] for index in problem.outputs_of[task])
    sizes = [tensor.size_bytes for tensor in made if tensor.is_output]
    return max((problem.copy_ns(device, 0, size) for size in sizes), default=0)


def optimistic_costs_ns(problem):
    """PEFT's equation 3."""
    table = ways_home_ns(problem)
    for task in reversed(range(len(problem.tasks))):
        edges = [
            (reader, problem.tensors[index].size_bytes)
            for index in problem.outputs_of[task]
            for reader in problem.tensors[index].consumers
        ]
        for device, reader in product(range(len(problem.devices)), edges):
            if table[task][device] >= 0:
                least_ns = _optimistic_ns(problem, table, device, *reader)
                table[task][device] = max(table[task][device], least_ns)
    return table


def _optimistic_ns(problem, table, source, reader, size_bytes):
    return min(
        problem.copy_ns(source, device, size_bytes) + service_ns + table[reader][device]
        for device, service_ns in enumerate(problem.tasks[reader].service_ns)
        if service_ns is not None
    )


def optimistic_finishes_ns(problem):
    """HOFT's table."""
    found = []
    for task, spec in enumerate(problem.tasks):
        row = []
        for device, service_ns in enumerate(spec.service_ns):
            there = [_there_ns(problem, found, index, device) for index in problem.inputs_of[task]]
            row.append(-1 if service_ns is None else service_ns + max(there, default=0))
        found.append(row)
    return found


def _there_ns(problem, finishes, index, device):
    tensor = problem.tensors[index]
    made = [0] if tensor.producer < 0 else finishes[tensor.producer]
    return min(
        end_ns + problem.copy_ns(source, device, tensor.size_bytes)
        for source, end_ns in enumerate(made)
        if end_ns >= 0
    )


def ratio_ranks(problem, finishes):
    """HOFT's ranks."""
    ranks = [0.0] * len(problem.tasks)
    for task in reversed(range(len(ranks))):
        known = [end_ns for end_ns in finishes[task] if end_ns >= 0]
        after = max((ranks[reader] for reader in problem.successors[task]), default=0.0)
        ranks[task] = after + max(1, *known) / max(1, min(known))
    return ranks


def readers_ns(problem, finishes):
    """Longest copy and service of any reader, each on the device that its finishes speak for."""
    table = ways_home_ns(problem)
    able = [[d for d, end_ns in enumerate(row) if end_ns >= 0] for row in finishes]
    expected = [min(d, key=row.__getitem__) for d, row in zip(able, finishes, strict=True)]
    for task, devices in enumerate(able):
        for device, index in product(devices, problem.outputs_of[task]):
            for reader in problem.tensors[index].consumers:
                there = expected[reader]
                copy_ns = problem.copy_ns(device, there, problem.tensors[index].size_bytes)
                needs_ns = copy_ns + problem.tasks[reader].service_ns[there]
                table[task][device] = max(table[task][device], needs_ns)
    return table


def list_schedule(problem, ranks, ahead_ns, choice, has_links=False):
    """Places and planned starts, by task."""
    kind = _LinkedSchedule if has_links else _Schedule
    return kind(problem, ranks, ahead_ns, choice).run()


class _Schedule:
    def __init__(self, problem, ranks, ahead_ns, choice):
        self.problem, self.ranks, self.ahead_ns, self.choice = problem, ranks, ahead_ns, choice
        self.agenda = [_Device(problem, index) for index in range(len(problem.devices))]
        self.device_of, self.place_of = [-1] * len(problem.tasks), [-1] * len(problem.tasks)
        self.starts, self.ends = [0] * len(problem.tasks), [0] * len(problem.tasks)

    def run(self):
        waiting = set(range(len(self.problem.tasks)))
        while waiting:
            ready = [t for t in waiting if waiting.isdisjoint(self.problem.predecessors[t])]
            task = min(ready, key=lambda task: (-self.ranks[task], task))
            self.book(task, getattr(self, self.choice)(task, self.offers(task)))
            waiting.remove(task)
        return self.place_of, self.starts

    def book(self, task, offer):
        place, start, end, _ = offer
        self.agenda[self.home(place)].book(task, start, end - start, self.at(task, place)[0])
        self.place_of[task], self.device_of[task] = place, self.home(place)
        self.starts[task], self.ends[task] = start, end

    def offers(self, task):
        """(place, start, end, end and what lies ahead)."""
        found = []
        for place in range(len(self.problem.places)):
            device, at = self.home(place), self.at(task, place)
            if at is None or self.ahead_ns[task][device] < 0:
                continue
            width, service_ns = at
            inputs_ns = self.inputs_ns(task, device)
            start = self.agenda[device].earliest(task, inputs_ns, service_ns, width)
            end = start + service_ns
            found.append((place, start, end, end + self.ahead_ns[task][device]))
        return found

    def home(self, place):
        return self.problem.places[place][0]

    def at(self, task, place):
        """Width and time of a task at a place; None where it cannot run."""
        device, width = self.problem.places[place]
        times = times_at(self.problem.tasks[task], device)
        return times[0] if times and not width else next((t for t in times if t[0] == width), None)

    def inputs_ns(self, task, device):
        ready = 0
        for index in self.problem.inputs_of[task]:
            tensor = self.problem.tensors[index]
            made_on, made_at = 0, 0
            if tensor.producer >= 0:
                made_on, made_at = self.device_of[tensor.producer], self.ends[tensor.producer]
            if made_on >= 0:
                copy_ns = self.problem.copy_ns(made_on, device, tensor.size_bytes)
                ready = max(ready, made_at + copy_ns)
        return ready

    def least(self, task, offers):
        return min(offers, key=_by_cost)

    def fastest(self, task, offers):
        first = min(offers, key=lambda offer: (offer[2], offer[1], offer[0]))
        fast = min(offers, key=lambda offer: (offer[2] - offer[1], offer[2], offer[0]))
        takes_ns = [end - start for _, start, end, _ in (first, fast)]
        is_first = takes_ns[0] == takes_ns[1] or first[3] < fast[3]
        return first if is_first else fast

    def readers(self, task, offers):
        readers = sorted(self.problem.successors[task], key=lambda r: (-self.ranks[r], r))
        if not readers or len(offers) == 1:
            return self.least(task, offers)
        return min(
            offers, key=lambda offer: (self.readers_end(task, offer, readers), offer[2], offer[0])
        )

    def readers_end(self, task, offer, readers):
        trial = deepcopy(self)
        trial.book(task, offer)
        last = offer[3]
        for reader in readers:
            best = min(trial.offers(reader), key=_by_cost)
            width, service_ns = trial.at(reader, best[0])
            trial.agenda[self.home(best[0])].book(reader, best[1], service_ns, width)
            last = max(last, best[3])
        return last

    def __deepcopy__(self, memo):
        twin = _Schedule(self.problem, self.ranks, self.ahead_ns, self.choice)
        twin.agenda = [device.copy() for device in self.agenda]
        twin.device_of, twin.place_of = list(self.device_of), list(self.place_of)
        twin.starts, twin.ends = list(self.starts), list(self.ends)
        return twin


class _LinkedSchedule(_Schedule):
    """Where copies over one link wait for each other."""

    def __init__(self, *given):
        super().__init__(*given)
        self.links = {link.name: _Agenda([[(0, _NEVER)]]) for link in self.problem.links}
        self.arrivals = {}

    def book(self, task, offer):
        for index, memory, link, start, there in self.copies(task, self.home(offer[0])):
            self.links[link.name].book(
                start, link.hold_ns(self.problem.tensors[index].size_bytes), 1
            )
            self.arrivals[index, memory] = there
        super().book(task, offer)

    def inputs_ns(self, task, device):
        memory = self.problem.devices[device].memory
        there = {index: arrival for index, _, _, _, arrival in self.copies(task, device)}
        ready = 0
        for index in self.problem.inputs_of[task]:
            at_home = self.made(index)[1]
            known = there.get(index, self.arrivals.get((index, memory), at_home))
            is_here = self.link_to(index, device) is None
            ready = max(ready, at_home if is_here else known)
        return ready

    def copies(self, task, device):
        """(tensor, memory, link, start, arrival) of those that are not there or on their way."""
        memory, free = self.problem.devices[device].memory, {}
        for index in self.problem.inputs_of[task]:
            link = self.link_to(index, device)
            if link is None or (index, memory) in self.arrivals:
                continue
            hold_ns = link.hold_ns(self.problem.tensors[index].size_bytes)
            begin = max(self.made(index)[1], free.get(link.name, 0))
            start = self.links[link.name].earliest(begin, hold_ns, 1)
            free[link.name] = start + hold_ns
            yield index, memory, link, start, free[link.name] + link.latency_ns

    def link_to(self, index, device):
        if self.problem.tensors[index].size_bytes == 0:
            return None
        return self.problem.link(self.made(index)[0], device)

    def made(self, index):
        producer = self.problem.tensors[index].producer
        return (0, 0) if producer < 0 else (self.device_of[producer], self.ends[producer])


def _by_cost(offer):
    return offer[3], offer[1], offer[0]


class _Device:
    """The lanes of a device and the thread that submits to them."""

    def __init__(self, problem, index):
        self.problem, self.index = problem, index
        self.submit_ns = problem.devices[index].submit_ns
        self.lanes = _Agenda([[(0, _NEVER)] for _ in range(problem.devices[index].lanes)])
        self.thread = _Agenda([[(0, _NEVER)]])
        self.submission = {}

    def copy(self):
        twin = _Device(self.problem, self.index)
        twin.lanes, twin.thread = (_Agenda(deepcopy(a.gaps)) for a in (self.lanes, self.thread))
        twin.submission = dict(self.submission)
        return twin

    def earliest(self, task, ready, service_ns, width):
        if held_ns := self.held_ns(task):
            begin = self.thread.earliest(max(0, ready - self.submit_ns), held_ns, 1)
            self.submission[task] = begin
            ready = max(ready, begin + self.submit_ns)
        return self.lanes.earliest(ready, service_ns, width)

    def book(self, task, start, service_ns, width):
        if held_ns := self.held_ns(task):
            self.thread.book(self.submission[task], held_ns, 1)
        self.lanes.book(start, service_ns, width)

    def held_ns(self, task):
        return self.submit_ns + self.problem.tasks[task].launches_ns(self.index)


class _Agenda:
    """The gaps of each lane, the last one open."""

    def __init__(self, gaps):
        self.gaps = gaps

    def earliest(self, ready, service_ns, width):
        if width > 1:
            return max(ready, sorted(gaps[-1][0] for gaps in self.gaps)[width - 1])
        return min(self.first(gaps, ready, service_ns) for gaps in self.gaps)

    def book(self, start, service_ns, width):
        end = start + service_ns
        for gaps in self.gaps:
            for place, (a, b) in enumerate(gaps):
                if a <= start and end <= b:
                    left = [(a, start)] if a < start else []
                    right = [(end, b)] if end < b else []
                    gaps[place : place + 1] = left + right
                    width -= 1
                    break
            if width == 0:
                return

    @staticmethod
    def first(gaps, ready, service_ns):
        return next(max(a, ready) for a, b in gaps if max(a, ready) + service_ns <= b)
