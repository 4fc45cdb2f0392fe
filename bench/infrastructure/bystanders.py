"""What other processes take of the machine while something is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Bystanders:
    """CPU time of other processes, while it is watched.

    Attributes
    ----------
    share : float
        Of all cores' time.
    """

    def __init__(self) -> None:
        self.share = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch for as long as the block runs."""
        began, busy_s, own_s = time.monotonic(), _busy_s(), time.process_time()
        yield
        spent_s = (time.monotonic() - began) * (os.cpu_count() or 1)
        others_s = _busy_s() - busy_s - (time.process_time() - own_s)
        self.share = min(1.0, max(0.0, others_s / spent_s))  # ticks are coarse


def _busy_s() -> float:
    """What all cores worked since the machine started."""
    line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    ticks = [int(word) for word in line.split()[1:]]
    user, nice, system, _, _, interrupts, soft_interrupts, steal = ticks[:8]
    return (user + nice + system + interrupts + soft_interrupts + steal) * _TICK_S
