"""The kernel's counters of who worked on our cores and who waited for one.

References
----------
``proc_stat(5)``: per CPU user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
``Documentation/scheduler/sched-stats.rst`` of the kernel for ``schedstat``: of a thread, the time
on a core and the time waiting for one, in nanoseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")
_TASKS = Path("/proc/self/task")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Counters:
    """A reading; what two of them differ by happened in between.

    Parameters
    ----------
    time_ns : int
        On a monotonic clock.
    own_ns : int
        CPU time of this process.
    cpus : int
        That the process may use.
    busy_ns, stolen_ns : int
        What these worked for anybody, and what a hypervisor took of them.
    waits : mapping of str to (int, int)
        Of each thread of the process: nanoseconds on a core, and waiting for one.
    """

    time_ns: int
    own_ns: int
    cpus: int
    busy_ns: int
    stolen_ns: int
    waits: dict[str, tuple[int, int]]


def read_counters(stat: Path = _STAT, tasks: Path = _TASKS) -> Counters:
    """Read them now; some 0.1 ms. What the kernel does not tell is 0."""
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    cpus = os.sched_getaffinity(0)
    busy_ns, stolen_ns = cpu_times_ns(lines, cpus)
    now_ns, own_ns = time.monotonic_ns(), time.process_time_ns()
    return Counters(now_ns, own_ns, len(cpus), busy_ns, stolen_ns, thread_waits(tasks))


def cpu_times_ns(stat: Collection[str], cpus: Collection[int]) -> tuple[int, int]:
    """Busy and stolen time of some CPUs by the lines of ``/proc/stat``, since the machine began."""
    names = {f"cpu{cpu}" for cpu in cpus}
    busy = stolen = 0
    for line in stat:
        name, *words = line.split()
        if name in names:
            user, nice, system, _, _, interrupts, soft_interrupts, steal = map(int, words[:8])
            busy += user + nice + system + interrupts + soft_interrupts
            stolen += steal
    return busy * _TICK_NS, stolen * _TICK_NS


def thread_waits(tasks: Path = _TASKS) -> dict[str, tuple[int, int]]:
    """Time on a core and waiting for one of each thread of this process; empty if not told."""
    found = {}
    for path in tasks.glob("*/schedstat"):
        try:
            ran, waited, _ = path.read_text().split()
        except (OSError, ValueError):  # the thread has ended
            continue
        found[path.parent.name] = (int(ran), int(waited))
    return found
