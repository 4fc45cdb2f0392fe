"""Counts runs over the last sessions, so that the fill can favour who ran least.

References
----------
D-STACK (TCC'24), section 6.A.2: times that each model has run in the last, say ten, sessions.
"""

from __future__ import annotations

from collections import Counter, deque


class Scoreboard:
    """Runs of each service in the current session and those before it.

    Parameters
    ----------
    sessions : int
        How many count, the current one included; >= 1.
    """

    def __init__(self, sessions: int) -> None:
        if sessions < 1:
            raise ValueError(f"sessions must be >= 1, got {sessions}")
        self._sessions = sessions
        self._past: deque[tuple[int, Counter[int]]] = deque()
        self._total: Counter[int] = Counter()

    def ran(self, service: int, session: int) -> None:
        """Count a run; sessions never go back."""
        self._forget(session)
        if not self._past or self._past[-1][0] != session:
            self._past.append((session, Counter()))
        self._past[-1][1][service] += 1
        self._total[service] += 1

    def runs(self, service: int, session: int) -> int:
        """Runs in the sessions that count, seen from this one."""
        self._forget(session)
        return self._total[service]

    def _forget(self, session: int) -> None:
        while self._past and self._past[0][0] <= session - self._sessions:
            self._total -= self._past.popleft()[1]
