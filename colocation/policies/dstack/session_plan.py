"""Plans a session: every service at least once per target, never more than the device.

References
----------
D-STACK (TCC'24), section 6.A: a session is the largest target; a service with a shorter one runs
once in each of its windows; earliest deadline first; consecutive runs of the services with the
shortest target as far apart as possible; no preemption. The text does not say what is done when a
run does not fit: here it is placed first in another attempt (squeaky wheel optimisation, Joslin
and Clements, JAIR 10, 1999), and left out if no attempt has room for all. A session is shorter than
the largest target where it would have more than 200 windows: services with longer targets
then have a turn in each session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_MOST_WINDOWS = 200


@dataclass(frozen=True)
class Runner:
    """What is to be planned of a service.

    Parameters
    ----------
    service : int
    share_percent : int
    run_ns : int
        Of a planned batch on that share; > 0.
    period_ns : int
        It runs once in each; > 0.
    """

    service: int
    share_percent: int
    run_ns: int
    period_ns: int


class Turn(NamedTuple):
    """A planned run, from the session's beginning; ``runner`` is an index."""

    start_ns: int
    end_ns: int
    runner: int
    share_percent: int


@dataclass(frozen=True)
class SessionPlan:
    """Turns by start, and the runs that no room was found for: runner and window."""

    session_ns: int
    turns: tuple[Turn, ...]
    missing: tuple[tuple[int, int], ...] = ()

    @property
    def utilisation(self) -> float:
        """Share of the device and the session that turns hold."""
        held = sum((turn.end_ns - turn.start_ns) * turn.share_percent for turn in self.turns)
        return held / (100 * self.session_ns)


def session_length_ns(periods_ns: Sequence[int]) -> int:
    """The largest target of some services, or what 200 of their windows take.

    Planning takes time by the square of the windows: a target of an hour beside one of 10 ms
    would take years.
    """
    windows_per_ns = sum(1 / period_ns for period_ns in periods_ns)
    return max(min(periods_ns), min(max(periods_ns), int(_MOST_WINDOWS / windows_per_ns)))


def plan_session(
    runners: Sequence[Runner], session_ns: int, spread: bool = True, attempts: int = 64
) -> SessionPlan:
    """Plan one session; every session is alike.

    Parameters
    ----------
    runners : sequence of Runner
    session_ns : int
        See ``session_length_ns``.
    spread : bool
        Whether runs of the shortest period are kept apart; otherwise as early as possible.
    attempts : int
        Orders that are tried, at most.
    """
    shortest_ns = min((runner.period_ns for runner in runners), default=0)
    jobs = [
        (window, index)
        for index, runner in enumerate(runners)
        for window in range(max(1, session_ns // runner.period_ns))
    ]
    jobs.sort(key=lambda job: (_window_end_ns(runners, *job), runners[job[1]].period_ns, job[1]))
    best: SessionPlan | None = None
    for _ in range(attempts):
        board = _Board(runners, session_ns, shortest_ns if spread else 0)
        missing = [job for job in jobs if not board.place(*job)]
        plan = board.plan([(index, window) for window, index in missing])
        if best is None or plan.utilisation > best.utilisation:
            best = plan
        if not missing:
            return plan
        jobs.remove(missing[0])
        jobs.insert(0, missing[0])
    assert best is not None
    return best


def _window_end_ns(runners: Sequence[Runner], window: int, index: int) -> int:
    return (window + 1) * runners[index].period_ns


class _Board:
    """Turns that have been placed."""

    def __init__(self, runners: Sequence[Runner], session_ns: int, spread_ns: int) -> None:
        self._runners = runners
        self._session_ns = session_ns
        self._spread_ns = spread_ns
        self._turns: list[Turn] = []

    def plan(self, missing: list[tuple[int, int]]) -> SessionPlan:
        """What is on the board."""
        return SessionPlan(self._session_ns, tuple(sorted(self._turns)), tuple(missing))

    def place(self, window: int, index: int) -> bool:
        """Place a run into its window if it fits anywhere."""
        runner = self._runners[index]
        first_ns = window * runner.period_ns
        end_ns = min(first_ns + runner.period_ns, self._session_ns)
        last_ns = end_ns - runner.run_ns
        near = [t for t in self._turns if t.start_ns < end_ns and t.end_ns > first_ns]
        wanted_ns = self._wanted_ns(index, first_ns)
        starts_ns = {first_ns, last_ns, wanted_ns}
        for turn in near:
            starts_ns |= {turn.end_ns, turn.start_ns - runner.run_ns}
        inside_ns = (start for start in starts_ns if first_ns <= start <= last_ns)
        for start_ns in sorted(inside_ns, key=lambda start: (abs(start - wanted_ns), start)):
            turn = Turn(start_ns, start_ns + runner.run_ns, index, runner.share_percent)
            if _fits(turn, near):
                self._turns.append(turn)
                return True
        return False

    def _wanted_ns(self, index: int, first_ns: int) -> int:
        """As early as possible; of the shortest period, one period after the run before."""
        runner = self._runners[index]
        if runner.period_ns != self._spread_ns:
            return first_ns
        before_ns = [t.start_ns for t in self._turns if t.runner == index and t.start_ns < first_ns]
        return max(before_ns) + runner.period_ns if before_ns else first_ns


def _fits(turn: Turn, near: Sequence[Turn]) -> bool:
    """Whether the device holds a turn beside those near it; no runner is beside itself."""
    beside = [t for t in near if t.start_ns < turn.end_ns and turn.start_ns < t.end_ns]
    if any(other.runner == turn.runner for other in beside):
        return False
    peaks_ns = [turn.start_ns, *(t.start_ns for t in beside if t.start_ns > turn.start_ns)]
    return all(
        turn.share_percent
        + sum(t.share_percent for t in beside if t.start_ns <= peak_ns < t.end_ns)
        <= 100
        for peak_ns in peaks_ns
    )
