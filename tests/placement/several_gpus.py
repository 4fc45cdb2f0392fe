"""Problems on a CPU and several GPUs, each with a memory of its own."""

from itertools import permutations

from surplus.placement import Device, Link, Problem, Task, Tensor

COPY_NS = 1_000


def on_gpus(count, services, edges=(), *, weights=(), memory_bytes=None):
    """services: (cpu, each GPU) of each task; edges as of hand_problems; a copy takes 1 us."""
    gpus = [f"gpu{number}" for number in range(count)]
    links = (Link(*pair, COPY_NS) for pair in permutations(["host", *gpus], 2))
    sizes = weights or [0] * len(services)
    return Problem(
        f"{count} GPUs",
        (Device("cpu"), *(Device(name, 1, name, memory_bytes) for name in gpus)),
        tuple(links),
        tuple(
            Task(f"t{i}", "Op", (cpu, *[gpu] * count), default_device=1, weight_bytes=size)
            for i, ((cpu, gpu), size) in enumerate(zip(services, sizes, strict=True))
        ),
        tuple(
            Tensor(f"x{i}", edge[0], tuple(edge[1]), edge[2], *edge[3:])
            for i, edge in enumerate(edges)
        ),
    )


def chain_too_large_for_one(count, length=8, spare=1):
    """Tasks in a row of 100 bytes of constants; ``count`` GPUs hold ``spare`` more than all."""
    edges = [(i, [i + 1], 1) for i in range(length - 1)]
    each = -(-length // count) * 100 + 2 + spare
    services = [(None if i % 4 else 900_000, 10_000) for i in range(length)]
    return on_gpus(count, services, edges, weights=[100] * length, memory_bytes=each)
