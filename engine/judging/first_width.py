"""A trial of a model's first queries: whether its session does better on one thread or on its pool.

Until a plan is measured a model is one session on all lanes. Its pool's threads begin asleep, so
that whoever asks computes alone, in the same parts, and with the same bits. A first query that
takes long, on a machine with an idle core, wakes them; else so many queries run narrow, so many
wide, and the better way stays. Where that is narrow the session is opened anew, since a pool that
is awake cannot be put to sleep.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from _thread import start_new_thread
from collections.abc import Callable
from enum import Flag, auto
from pathlib import Path
from typing import Protocol

from surplus.engine import _core
from surplus.engine.errors import EngineError, one_line
from surplus.engine.judging.width_choice import Width, WidthChoice
from surplus.engine.runtime.on_trial import Ask, QueryTrial, took_ns
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.runtime.throughput_switch import ThroughputSwitch

_log = logging.getLogger(__name__)

_LONG_S = 0.002
"""A first query that runs for so long has operators that a pool shares out."""

_WAKES_AT_LEAST_NS = 200_000
_WAKES_TIMES = 8
"""A narrow session is widened by a query of so many times the usual one: of another size."""

_MOST_SEEN = 64
"""Where so few of them are alone, queries overlap, and are answered on a lane each."""


class _Due(Flag):
    """What follows from a query's time, outside the lock."""

    NOTHING = 0
    WAKE = auto()
    END = auto()


class Pool(Protocol):
    """A session whose pool may be asleep (``_core.WholeModel``)."""

    def wake_workers(self) -> None:
        """Have its threads help from now on."""

    def wake_workers_after(self, ns: int) -> None:
        """Have them woken by a run that takes so long."""


class FirstWidth(QueryTrial):
    """Routes the first queries of one model. Thread-safe; holds no model.

    Parameters
    ----------
    model : PlannedModel
        It runs on ``pool``.
    reopen : callable
        Opens the session anew, asleep; takes as long as loading the model.
    """

    def __init__(
        self,
        model: PlannedModel,
        plan: Prepared,
        switch: ThroughputSwitch | None,
        pool: Pool,
        reopen: Callable[[], Pool],
        *,
        choice: WidthChoice | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        has_idle_core: Callable[[], bool] | None = None,
    ) -> None:
        self.plan = plan
        self._model = weakref.ref(model)
        self._switch = switch
        self._pool = pool
        self._reopen = reopen
        self._choice = choice or WidthChoice()
        self._clock = clock
        self._has_idle_core = has_idle_core or has_idle_core_here
        self._lock = threading.Lock()
        self._open: list[Ask] = []
        self._begun = 0
        self._ended = False

    def begin(self) -> Ask:
        """Begin a query."""
        with self._lock:
            due = self._collect()
            overlapping = None if self._switch is None else self._switch.now()
            for other in self._open:
                other.is_alone = False
            is_alone = overlapping is None and not self._open
            ask = Ask(overlapping or self.plan, False, is_alone, self._clock())
            self._open.append(ask)
            self._begun += 1
            is_first = self._begun == 1
        self._do(due)
        if is_first:
            start_new_thread(self._look_soon, (ask,))  # a Timer waits until its thread has begun
        return ask

    def done(self, ask: Ask, run: _core.Run) -> None:
        """Its traced run has ended, well or not."""
        self._leave(ask, took_ns(run) if run.status == "ok" else None)

    def answered(self, ask: Ask) -> None:
        """It has its answer."""
        if self._switch is not None:
            self._switch.answered(ask.began_ns)
        self._leave(ask, self._clock() - ask.began_ns)

    def failed(self, ask: Ask) -> None:
        """It has none."""
        self._leave(ask, None)

    def _leave(self, ask: Ask, took_ns: int | None) -> None:
        with self._lock:
            self._open.remove(ask)
            due = self._note(ask, took_ns) | self._collect()
        self._do(due)

    def _collect(self) -> _Due:
        """Note submitted queries that are done, of which nobody says so."""
        due = _Due.NOTHING
        for ask in [a for a in self._open if a.run is not None and a.run.done]:
            assert ask.run is not None
            self._open.remove(ask)
            due |= self._note(ask, took_ns(ask.run) if ask.run.status == "ok" else None)
        return due

    def _note(self, ask: Ask, took_ns: int | None) -> _Due:
        before, choice = self._choice.now, self._choice
        if choice.verdict is None:
            if took_ns is not None and ask.is_alone:
                choice.note(took_ns)
            elif self._begun >= _MOST_SEEN:
                choice.widen()
        due = _Due.NOTHING if choice.now is before else _Due.WAKE
        if choice.verdict is not None and not self._ended:
            self._ended = True
            due |= _Due.END
        return due

    def _do(self, due: _Due) -> None:
        if _Due.WAKE in due:
            self._pool.wake_workers()
        if _Due.END in due:
            self._end()

    def _look_soon(self, first: Ask) -> None:
        time.sleep(_LONG_S)
        self._look(first)

    def _look(self, first: Ask) -> None:
        """While the first query still runs: it has work for an idle core."""
        with self._lock:
            runs_still = first in self._open and self._choice.now is Width.NARROW
        if runs_still and self._has_idle_core():
            with self._lock:
                self._choice.widen()
            self._pool.wake_workers()

    def _end(self) -> None:
        model = self._model()
        if model is None:
            return
        model.end_trial(self)
        if self._choice.verdict is Width.WIDE:
            return
        if self._choice.now is Width.NARROW:
            self._pool.wake_workers_after(self._wakes_after_ns)
            return
        threading.Thread(target=self._narrow, name="first width", daemon=True).start()

    @property
    def _wakes_after_ns(self) -> int:
        return max(_WAKES_AT_LEAST_NS, _WAKES_TIMES * self._choice.narrow_ns)

    def _narrow(self) -> None:
        """Go on in a session whose pool sleeps; queries meanwhile run in the one that is awake."""
        try:
            pool = self._reopen()
            pool.wake_workers_after(self._wakes_after_ns)
            model = self._model()
            if model is not None:
                model.take_over(model.prepare(self.plan.plan), instead_of=self.plan)
        except (EngineError, RuntimeError, MemoryError) as error:
            _log.info("%s goes on with its pool: %s", self.plan.plan.name, one_line(error))


def has_idle_core_here(stat: Path = Path("/proc/stat")) -> bool:
    """Whether a core is left beside what runs now: the thread that computes, and this one."""
    try:
        lines = stat.read_text().splitlines()
    except OSError:
        return True
    cores = sum(line.startswith("cpu") for line in lines) - 1
    running = next((int(line.split()[1]) for line in lines if line.startswith("procs_running")), 0)
    return running - 1 < cores
