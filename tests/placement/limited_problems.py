"""Problems whose memories are limited, and a count of bytes by looking at single instants."""

from dataclasses import replace
from random import Random

from surplus.placement import Blob, SpanKind


def with_limits(problem, **limits):
    """The problem with other capacities, by memory."""
    devices = tuple(
        replace(d, memory_bytes=limits.get(d.memory, d.memory_bytes)) for d in problem.devices
    )
    return replace(problem, devices=devices)


def with_weights(problem, seed):
    """The problem with constants, of which some are shared."""
    random = Random(seed)
    blobs = tuple(Blob(f"w{i}", random.randint(0, 200)) for i in range(3))
    tasks = []
    for task in problem.tasks:
        held = tuple(sorted(random.sample(range(3), random.choice([0, 0, 1, 2]))))
        own = random.choice([0, random.randint(1, 300)])
        size = own + sum(blobs[b].size_bytes for b in held)
        tasks.append(replace(task, weight_bytes=size, blobs=held))
    return replace(problem, tasks=tuple(tasks), blobs=blobs)


def peak_by_instants(problem, placement, timeline, memory):
    """Most bytes in a memory: each instant at which anything starts is looked at by itself."""
    where = [problem.devices[d].memory for d in placement.device_of]
    host = problem.devices[0].memory
    tasks = {s.index: s for s in timeline if s.kind is not SpanKind.COPY}
    copies = [s for s in timeline if s.kind is SpanKind.COPY]
    shared = {b for i, m in enumerate(where) if m == memory for b in problem.tasks[i].blobs}
    weights = sum(problem.blobs[b].size_bytes for b in shared)
    for task, there in zip(problem.tasks, where, strict=True):
        if there == memory:
            weights += task.weight_bytes - sum(problem.blobs[b].size_bytes for b in task.blobs)

    def there_at(index, now):
        tensor = problem.tensors[index]
        home = host if tensor.producer < 0 else where[tensor.producer]
        arrives = [c.start_ns for c in copies if c.index == index and c.resource.endswith(memory)]
        if home == memory:
            arrives = [0 if tensor.producer < 0 else tasks[tensor.producer].start_ns]
        readers = [tasks[c].end_ns for c in tensor.consumers if where[c] == memory]
        moving = [c.end_ns for c in copies if c.index == index and memory in c.resource.split("->")]
        made = [tasks[tensor.producer].end_ns] if home == memory and tensor.producer >= 0 else []
        kept = [timeline.makespan_ns] if tensor.is_output and memory == host else []
        return bool(arrives) and arrives[0] <= now < max([*readers, *moving, *made, *kept, 0])

    instants = {span.start_ns for span in timeline} | {0}
    sizes = [t.size_bytes for t in problem.tensors]
    held = [sum(s for i, s in enumerate(sizes) if there_at(i, now)) for now in instants]
    return weights + max(held, default=0)
