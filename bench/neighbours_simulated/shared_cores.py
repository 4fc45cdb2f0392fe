"""One thread a query on cores that the system shares by weight: what sessions of one thread do.

Every thread gets its share at every moment, at no cost, on whichever core: better than any real
scheduler of an operating system does it, so this favours the peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from bench.neighbours_simulated.answers import Answers
from bench.neighbours_simulated.callers import Callers
from bench.neighbours_simulated.stream_load import StreamQuery

NICE_19 = 15 / 1024
"""Its weight in Linux, of that of a thread at nice 0."""


def shared(queries: Sequence[StreamQuery], cores: int, until_ns: int, background: float) -> Answers:
    """Serve all queries beside as many threads of background work as there are cores.

    Parameters
    ----------
    until_ns : int
        Background work counts until then.
    background : float
        Weight of a background thread; 1: as of the others.
    """
    callers, ends_ns = Callers(queries), [0] * len(queries)
    running: list[tuple[float, int]] = []  # all run at one speed: the virtual time of each end
    virtual_ns = left_ns = 0.0
    now_ns = 0.0
    while True:
        speed, of_background = speeds(len(running), cores, background)
        due = [float(when) for when in [callers.next_ns] if when is not None]
        if running:
            due.append(now_ns + max(0.0, running[0][0] - virtual_ns) / speed)
        if not due:
            left_ns += cores * max(0.0, until_ns - now_ns)
            return Answers([query.asked for query in queries], ends_ns, left_ns)
        then_ns = max(now_ns, min(due))
        virtual_ns += (then_ns - now_ns) * speed
        left_ns += max(0.0, min(then_ns, until_ns) - now_ns) * of_background
        now_ns = then_ns
        begun = list(callers.come(round(now_ns)))
        while running and running[0][0] <= virtual_ns + 1e-3:
            place = heappop(running)[1]
            ends_ns[place] = round(now_ns)
            following = callers.answered(place)
            begun += [] if following is None else [following]
        for place in begun:
            heappush(running, (virtual_ns + queries[place].asked.service_ns, place))


def speeds(threads: int, cores: int, background: float) -> tuple[float, float]:
    """Cores of each thread, at most one, and of ``cores`` background threads together.

    Parameters
    ----------
    background : float
        Weight of each of these, above 0, at most 1.
    """
    share = min(1.0, cores / (threads + background * cores))
    return share, cores - share * threads if threads else float(cores)
