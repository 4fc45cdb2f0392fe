"""Readings of D-STACK's fill in Fig. 9(c): sessions of three models that always have work.

The paper says 74 % and not what a batch of the fill may be, nor how long part of a batch takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surplus.colocation.policies.dstack.free_time import Held, free_until_ns
from surplus.colocation.policies.dstack.scoreboard import Scoreboard
from surplus.colocation.policies.dstack.session_plan import Runner, plan_session
from surplus.colocation.policies.dstack.timetable import Timetable

MS = 1_000_000
SESSIONS = 40
BATCH = 16
SIZES = {
    "whole batches": (16,),
    "whole or half batches": (16, 8),
    "any batch": tuple(range(16, 0, -1)),
}
FIXED_PARTS = (0.2, 0.3)

Models = Mapping[str, tuple[int, int, int]]
"""Knee in percent, time of a batch of 16 and target in ms, by name."""


def saturated_utilisation(models: Models) -> dict[str, float]:
    """Share of the device in use, by reading."""
    return {
        f"with the fill: {name}, {fixed:.0%} of a batch's time is fixed": _Sessions(
            models, sizes, fixed
        ).utilisation()
        for name, sizes in SIZES.items()
        for fixed in FIXED_PARTS
    }


@dataclass(frozen=True)
class _Run:
    runner: int
    held: Held


class _Sessions:
    """Turns when they are planned; between them, whoever ran least and fits until its next turn."""

    def __init__(self, models: Models, sizes: tuple[int, ...], fixed: float) -> None:
        self._runners = [
            Runner(k, knee, took * MS, slo * MS)
            for k, (knee, took, slo) in enumerate(models.values())
        ]
        self._parts = [fixed + (1 - fixed) * items / BATCH for items in sizes]
        self._session_ns = max(runner.period_ns for runner in self._runners)
        self._table = Timetable(plan_session(self._runners, self._session_ns))
        self._board = Scoreboard(10)
        self._running: list[_Run] = []
        self._used = 0

    def utilisation(self) -> float:
        """Walk from one end or planned start to the next."""
        now_ns = 0
        while now_ns < SESSIONS * self._session_ns:
            self._running = [run for run in self._running if run.held.end_ns > now_ns]
            for turn in self._table.due(now_ns):
                self._table.settle(turn)
                self._start(turn.runner, now_ns, turn.end_ns - now_ns)
            while self._fill(now_ns):
                pass
            next_turn_ns = self._table.next_ns(now_ns)
            assert next_turn_ns is not None
            now_ns = min([next_turn_ns, *(run.held.end_ns for run in self._running)])
        return self._used / (100 * now_ns)

    def _start(self, runner: int, now_ns: int, took_ns: int) -> None:
        share_percent = self._runners[runner].share_percent
        self._running.append(_Run(runner, Held(now_ns, now_ns + took_ns, share_percent)))
        self._used += took_ns * share_percent
        self._board.ran(runner, self._table.session(now_ns))

    def _fill(self, now_ns: int) -> bool:
        active = {run.runner for run in self._running}
        session = self._table.session(now_ns)
        idle = (k for k in range(len(self._runners)) if k not in active)
        for runner in sorted(idle, key=lambda k: (self._board.runs(k, session), k)):
            free_ns = self._free_until_ns(runner, now_ns) - now_ns
            times_ns = (round(self._runners[runner].run_ns * part) for part in self._parts)
            took_ns = next((took_ns for took_ns in times_ns if took_ns <= free_ns), 0)
            if took_ns:
                self._start(runner, now_ns, took_ns)
                return True
        return False

    def _free_until_ns(self, runner: int, now_ns: int) -> int:
        """Until others need the share, its own next turn, or the session's end."""
        coming = self._table.coming(now_ns)
        turns = [Held(turn.start_ns, turn.end_ns, turn.share_percent) for turn in coming]
        held = [*(run.held for run in self._running), *turns]
        own_ns = next(turn.start_ns for turn in coming if turn.runner == runner)
        end_ns = (now_ns // self._session_ns + 1) * self._session_ns
        share_percent = self._runners[runner].share_percent
        return min(own_ns, end_ns, free_until_ns(share_percent, now_ns, held))
