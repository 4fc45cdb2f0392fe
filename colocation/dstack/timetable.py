"""A session's plan, repeated for ever, and which of its turns are still to come."""

from __future__ import annotations

from colocation.dstack.session_plan import SessionPlan, Turn


class Timetable:
    """Walks through the sessions; time never goes back.

    Parameters
    ----------
    plan : SessionPlan
    """

    def __init__(self, plan: SessionPlan) -> None:
        self._plan = plan
        self._session = 0
        self._left = list(plan.turns)

    def session(self, now_ns: int) -> int:
        """Number of the session, from 0."""
        return now_ns // self._plan.session_ns

    def due(self, now_ns: int) -> list[Turn]:
        """Turns whose time has come, in absolute time, most urgent first."""
        self._advance(now_ns)
        base_ns = self._session * self._plan.session_ns
        found = []
        for turn in self._left:
            if base_ns + turn.start_ns > now_ns:
                break
            found.append(_shifted(turn, base_ns))
        return sorted(found, key=lambda turn: (turn.end_ns, turn.runner))

    def coming(self, now_ns: int, horizon_ns: int) -> list[Turn]:
        """Turns that start after now and up to the horizon, in absolute time, by start."""
        self._advance(now_ns)
        found = []
        base_ns = self._session * self._plan.session_ns
        turns = self._left
        while turns and base_ns + turns[0].start_ns <= horizon_ns:
            for turn in turns:
                if now_ns < base_ns + turn.start_ns <= horizon_ns:
                    found.append(_shifted(turn, base_ns))
            base_ns += self._plan.session_ns
            turns = list(self._plan.turns)
        return found

    def next_ns(self, now_ns: int) -> int | None:
        """When the next turn starts; None without turns."""
        coming = self.coming(now_ns, now_ns + 2 * self._plan.session_ns)
        return coming[0].start_ns if coming else None

    def settle(self, turn: Turn) -> None:
        """Strike out a due turn: it has started, or there was nothing to do in it."""
        base_ns = self._session * self._plan.session_ns
        self._left.remove(_shifted(turn, -base_ns))

    def _advance(self, now_ns: int) -> None:
        """Begin a new session when it is time, and forget turns that are over."""
        session = self.session(now_ns)
        if session != self._session:
            self._session = session
            self._left = list(self._plan.turns)
        offset_ns = now_ns - session * self._plan.session_ns
        self._left = [turn for turn in self._left if turn.end_ns > offset_ns]


def _shifted(turn: Turn, by_ns: int) -> Turn:
    return turn._replace(start_ns=turn.start_ns + by_ns, end_ns=turn.end_ns + by_ns)
