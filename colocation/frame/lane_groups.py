"""How long a group takes whose pieces run side by side, each on some of its partition's lanes.

As the live backend computes them: a piece waits for a free lane; on a CPU it takes its part of the
lanes among those that run or wait then, and keeps as many until it ends, on a GPU each takes one
stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from surplus.colocation.frame.interference_model import UNIT_PPM
from surplus.colocation.frame.work import Piece

Alone = Callable[[Piece, int], int]
"""Piece, number of lanes -> its time on them with the other lanes idle, in ns."""

Slowdown = Callable[[Piece, Sequence[Piece]], int]
"""Piece, those that run beside it -> its time beside them, in millionths of its time alone."""


def group_ns(
    pieces: Sequence[Piece],
    lanes: int,
    alone: Alone,
    slowdown: Slowdown | None = None,
    widest: int | None = None,
) -> int:
    """Time until the last piece has ended.

    Parameters
    ----------
    pieces : sequence of Piece
        In the order in which they begin.
    lanes : int
        Of the partition; >= 1.
    slowdown : callable, optional
        None where neighbours cost nothing.
    widest : int, optional
        Most lanes of a piece; None for no limit.
    """
    waiting, running = list(pieces), list[tuple[Piece, int]]()
    now_ns = 0
    while waiting or running:
        while waiting and len(running) < lanes:
            width = max(1, min(widest or lanes, lanes // (len(running) + len(waiting))))
            piece = waiting.pop(0)
            running.append((piece, alone(piece, width)))
        paces = _paces([piece for piece, _ in running], slowdown)
        left = zip(running, paces, strict=True)
        step_ns = min(-(-left_ns * ppm // UNIT_PPM) for (_, left_ns), ppm in left)
        now_ns += step_ns
        running = [
            (piece, left_ns - step_ns * UNIT_PPM // ppm)
            for (piece, left_ns), ppm in zip(running, paces, strict=True)
            if left_ns > step_ns * UNIT_PPM // ppm
        ]
    return now_ns


def _paces(pieces: Sequence[Piece], slowdown: Slowdown | None) -> list[int]:
    if slowdown is None or len(pieces) == 1:
        return [UNIT_PPM] * len(pieces)
    beside = [[*pieces[:place], *pieces[place + 1 :]] for place in range(len(pieces))]
    return [slowdown(piece, others) for piece, others in zip(pieces, beside, strict=True)]
