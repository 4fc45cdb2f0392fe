"""CPU time of processes that have nothing to do with what is measured."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from bench.infrastructure.process_tree import PROC, TICKS_PER_S, processes, tree
from surplus.engine.profiling.counters import Counters, read_counters


def read_disturbances(proc: Path = PROC) -> Counters:
    """Counters in which what strangers took of the cores counts as stolen, too."""
    counters = read_counters()
    return replace(counters, stolen_ns=counters.stolen_ns + strangers_ns(proc))


def strangers_ns(proc: Path = PROC, own: int | None = None) -> int:
    """CPU time so far of all processes but one, by default this one, and those that it started.

    Kernel threads are strangers as well. Ticks of 10 ms, as the kernel tells it.
    """
    found = processes(proc)
    family = set(tree(os.getpid() if own is None else own, found))
    ticks = sum(one.ticks + one.ended_ticks for one in found if one.pid not in family)
    return ticks * 1_000_000_000 // TICKS_PER_S
