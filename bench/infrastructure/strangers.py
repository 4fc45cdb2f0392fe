"""CPU time of processes that have nothing to do with what is measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from surplus.engine.profiling.counters import Counters, read_counters

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class _Process(NamedTuple):
    """Of a process and of its children that have ended."""

    pid: int
    parent: int
    cpu_ns: int


def read_disturbances(proc: Path = Path("/proc")) -> Counters:
    """Counters in which what strangers took of the cores counts as stolen, too."""
    counters = read_counters()
    return replace(counters, stolen_ns=counters.stolen_ns + strangers_ns(proc))


def strangers_ns(proc: Path = Path("/proc"), own: int | None = None) -> int:
    """CPU time so far of all processes but one, by default this one, and those that it started.

    Kernel threads are strangers as well. Ticks of 10 ms, as the kernel tells it.
    """
    processes = list(_processes(proc))
    family = {os.getpid() if own is None else own}
    found = 0
    while len(family) != found:  # children have higher numbers than parents only mostly
        found = len(family)
        family |= {process.pid for process in processes if process.parent in family}
    return sum(process.cpu_ns for process in processes if process.pid not in family)


def _processes(proc: Path) -> Iterator[_Process]:
    for folder in proc.glob("[0-9]*"):
        try:
            # Behind the name, which may have spaces and parentheses in it (proc_pid_stat(5)).
            words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        yield _Process(int(folder.name), int(words[1]), sum(map(int, words[11:15])) * _TICK_NS)
