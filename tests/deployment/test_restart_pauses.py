"""A server that was killed is started again at once; one that does not stay up, later and later."""

from __future__ import annotations

from surplus.engine.deployment.restart_pauses import RestartPauses

LONG_S, SHORT_S = 100.0, 1.0


def test_who_served_for_long_is_back_at_once() -> None:
    pauses = RestartPauses()
    assert [pauses.after(LONG_S, True) for _ in range(9)] == [0.0] * 9


def test_who_is_killed_again_and_again_is_back_at_once_five_times() -> None:
    pauses = RestartPauses()
    assert [pauses.after(SHORT_S, True) for _ in range(8)] == [0.0] * 5 + [0.5, 1.0, 2.0]
    assert pauses.after(LONG_S, True) == 0.0
    assert pauses.after(SHORT_S, True) == 0.0  # counted anew


def test_who_cannot_start_is_waited_with_longer_and_longer() -> None:
    pauses = RestartPauses()
    assert [pauses.after(SHORT_S, False) for _ in range(4)] == [0.5, 1.0, 2.0, 4.0]
    assert max(pauses.after(LONG_S, False) for _ in range(9)) == 10.0
