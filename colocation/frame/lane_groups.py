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

Slowdowns = Callable[[Sequence[Piece]], Sequence[int]]
"""Pieces that run side by side -> times of each, in millionths of its time alone."""


def group_ns(
    pieces: Sequence[Piece],
    lanes: int,
    alone: Alone,
    slowdowns: Slowdowns | None = None,
    widest: int | None = None,
) -> int:
    """Time until the last piece has ended.

    Parameters
    ----------
    pieces : sequence of Piece
        In the order in which they begin.
    lanes : int
        Of the partition; >= 1.
    slowdowns : callable, optional
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
        paces: Sequence[int] = [UNIT_PPM] * len(running)
        if slowdowns is not None and len(running) > 1:
            paces = slowdowns([piece for piece, _ in running])
        left = zip(running, paces, strict=True)
        step_ns = min(-(-left_ns * ppm // UNIT_PPM) for (_, left_ns), ppm in left)
        now_ns += step_ns
        running = [
            (piece, left_ns - step_ns * UNIT_PPM // ppm)
            for (piece, left_ns), ppm in zip(running, paces, strict=True)
            if left_ns > step_ns * UNIT_PPM // ppm
        ]
    return now_ns
