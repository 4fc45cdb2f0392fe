"""Hand-made problems for the optimiser's tests."""

from surplus.placement import Device, Link, Problem, Task, Tensor

SLOW_LINKS = (Link("host", "gpu", 5, 1e9), Link("gpu", "host", 5, 1e9))


def two_devices(tasks, tensors=(), lanes=(1, 1), links=SLOW_LINKS, memory_bytes=(None, None)):
    """A problem on a host device and a GPU; a byte takes 1 ns to copy, plus 5 ns."""
    devices = (
        Device("cpu", lanes[0], "host", memory_bytes[0]),
        Device("gpu", lanes[1], "gpu", memory_bytes[1]),
    )
    rows = tuple(
        task if isinstance(task, Task) else _task(f"t{index}", task)
        for index, task in enumerate(tasks)
    )
    return Problem("hand", devices, links, rows, tuple(tensors))


def _task(name, times):
    able = next(d for d, t in enumerate(times) if t is not None)
    return Task(name, "Op", tuple(times), default_device=able)


def edge(producer, *consumers, size=0, output=False):
    """A tensor named after its ends."""
    return Tensor(f"{producer}to{consumers}", producer, tuple(consumers), size, output)
