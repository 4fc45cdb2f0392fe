"""How long to wait until a server that has ended is started again."""

from __future__ import annotations

_SOON_S = 2.0
"""Who has served, and ends so soon after its start, may do so again and again."""
_AT_ONCE = 5
"""So often in a row it is started again at once nevertheless: it was killed."""
_FIRST_S, _LONGEST_S = 0.5, 10.0


class RestartPauses:
    """Later and later while a server does not stay up."""

    def __init__(self) -> None:
        self._in_row = 0

    def after(self, lived_s: float, has_served: bool) -> float:
        """How long to wait, s.

        Parameters
        ----------
        lived_s : float
            From its start to its end.
        has_served : bool
            Whether it said where it listens: nothing is wrong with its options.
        """
        if has_served and lived_s > _SOON_S:
            self._in_row = 0
            return 0.0
        self._in_row += 1
        late = self._in_row - (_AT_ONCE if has_served else 0)
        return 0.0 if late <= 0 else min(_FIRST_S * 2.0 ** (late - 1), _LONGEST_S)
