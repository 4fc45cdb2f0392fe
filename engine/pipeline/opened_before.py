"""Plans that this process has opened before, of files that have not changed since.

To find a stored plan a load hashes the user's file and reads the graph's summary, the plan and the
checksums of what lies beside it. A program that loads the same file again is spared all of that:
whether one of these files changed is told by their sizes, inodes and times.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from surplus.engine.cache_folder import cache_folder
from surplus.engine.devices import after_fork
from surplus.engine.dfg.file_hashes import hashes_in
from surplus.engine.pipeline.load_job import LoadJob
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.stored_plan import StoredPlan

_MOST = 64
"""Remembered, those that were used last: a plan holds some kilobytes."""

_SETTLED_NS = 50_000_000
"""A file that changed more recently could change again within the same tick of its file system."""

_IN_USE = "in-use.lock"
"""The one file of a model's folder that each load touches."""

_States = tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True)
class OpenedPlan:
    """A plan, what it is of, and the states of the files that say so."""

    job: PlanJob
    stored: StoredPlan
    users: tuple[Path, ...]
    states: _States


class OpenedBefore:
    """What loads have opened, by their files and settings. Thread-safe."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, OpenedPlan] = OrderedDict()

    def leave_behind(self) -> None:
        """Forget all in a forked child, where a thread of the parent may hold the lock."""
        self._begin()

    def find(self, load: LoadJob) -> OpenedPlan | None:
        """What the same load has opened before, if all files are as they were."""
        key = _key(load)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            return None
        if _states(known.users, known.job.graph.folder) != known.states:
            with self._lock:
                self._known.pop(key, None)
            return None
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
        return known

    def keep(self, load: LoadJob, job: PlanJob, stored: StoredPlan) -> None:
        """Remember what a load has opened; one with inputs of its own is not remembered."""
        if not _may_repeat(load):
            return
        hashes = hashes_in(load.params.cache or cache_folder())
        try:
            names = hashes.parts(hashes.digest(load.path)) or ()
        except OSError:
            return
        users = (load.path, *(load.path.parent / name for name in names))
        states = _states(users, job.graph.folder)
        if states is None or not all(map(_is_settled, users)):
            return
        with self._lock:
            self._known[_key(load)] = OpenedPlan(job, stored, users, states)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)


OPENED = OpenedBefore()
after_fork.watch(OPENED)


def _may_repeat(load: LoadJob) -> bool:
    return load.inputs is None and load.params.uses_stored


def _key(load: LoadJob) -> str:
    return f"{load.path}\n{load.params!r}" if _may_repeat(load) else ""


def _states(users: tuple[Path, ...], folder: Path) -> _States | None:
    """Of the user's files and of all in the model's folder; None where one is missing."""
    try:
        found = [_state(str(path), path.stat()) for path in users]
        with os.scandir(folder) as entries:
            found += sorted(_state(e.name, e.stat()) for e in entries if e.name != _IN_USE)
    except OSError:
        return None
    return tuple(found)


def _state(name: str, stat: os.stat_result) -> tuple[str, int, int, int, int]:
    return name, stat.st_size, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns


def _is_settled(path: Path) -> bool:
    stat = path.stat()
    return time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _SETTLED_NS
