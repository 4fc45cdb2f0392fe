"""A session's plan, repeated for ever, and which of its turns are still to come."""

from __future__ import annotations

from bisect import bisect_right

from surplus.colocation.policies.dstack.session_plan import SessionPlan, Turn


class Timetable:
    """Walks through the sessions; time never goes back. All times that it gives are absolute.

    Parameters
    ----------
    plan : SessionPlan
    """

    def __init__(self, plan: SessionPlan) -> None:
        self._plan = plan
        self._session = -1
        self._due: list[Turn] = []
        self._ahead: list[Turn] = []
        self._planned_until = 0

    def session(self, now_ns: int) -> int:
        """Number of the session, from 0."""
        return now_ns // self._plan.session_ns

    def due(self, now_ns: int) -> list[Turn]:
        """Turns whose time has come and is not over, most urgent first."""
        self._advance(now_ns)
        return list(self._due)

    def coming(self, now_ns: int) -> list[Turn]:
        """Turns that start after now: the rest of this session and the next one, by start."""
        self._advance(now_ns)
        return self._ahead

    def next_ns(self, now_ns: int) -> int | None:
        """When the next turn starts; None without turns."""
        self._advance(now_ns)
        return self._ahead[0].start_ns if self._ahead else None

    def settle(self, turn: Turn) -> None:
        """Strike out a due turn: it has started, or there was nothing to do in it."""
        self._due.remove(turn)

    def _advance(self, now_ns: int) -> None:
        """Plan ahead when a session begins; move turns that are due, forget those that are over."""
        session = self.session(now_ns)
        if session != self._session:
            self._session = session
            first = max(session, self._planned_until)
            self._planned_until = session + 2
            for number in range(first, self._planned_until):
                base_ns = number * self._plan.session_ns
                self._ahead.extend(_shifted(turn, base_ns) for turn in self._plan.turns)
        begun = bisect_right(self._ahead, now_ns, key=lambda turn: turn.start_ns)
        if begun:
            self._due += self._ahead[:begun]
            self._due.sort(key=lambda turn: (turn.end_ns, turn.runner))
            del self._ahead[:begun]
        while self._due and self._due[0].end_ns <= now_ns:
            del self._due[0]


def _shifted(turn: Turn, by_ns: int) -> Turn:
    return turn._replace(start_ns=turn.start_ns + by_ns, end_ns=turn.end_ns + by_ns)
