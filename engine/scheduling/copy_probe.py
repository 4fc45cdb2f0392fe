"""What a copy takes beside what it takes undisturbed: pressure on caches and memory, measured.

Where a virtual machine hides the counters of its caches, this stands in for them: a copy of fixed
size through memory that no core's own caches hold is slower while neighbours use the last cache,
or the memory behind it. By the time that its thread was on a core, so that waiting for one is not
in it (``RunQueue`` tells that).

References
----------
VELTAIR (ASPLOS'22), section 4.3, reads misses and accesses of the last cache instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

_COPIED_BYTES = 1 << 20
_RING_BYTES = 64 << 20
_FORGET = 0.999


class CopyProbe:
    """Slowdown of a copy of 1 MiB, less 1; each goes to another part of 64 MiB.

    Takes some 0.1 ms. What counts as undisturbed is the fastest copy so far, which is forgotten
    slowly, as a machine's speed changes.
    """

    names: tuple[str, ...] = ("slowdown of a copy",)

    def __init__(self, clock_ns: Callable[[], int] = time.thread_time_ns) -> None:
        self._clock_ns = clock_ns
        self._ring = np.zeros(_RING_BYTES, np.uint8)
        self._ring[:: 1 << 12] = 1  # pages of its own
        self._place = 0
        self._best_ns = 0.0

    def read(self) -> tuple[float, ...]:
        """Of one copy, now."""
        halves = self._ring.reshape(2, -1, _COPIED_BYTES)
        began_ns = self._clock_ns()
        np.copyto(halves[0, self._place], halves[1, self._place])
        took_ns = max(1, self._clock_ns() - began_ns)
        self._place = (self._place + 1) % halves.shape[1]
        best_ns = self._best_ns / _FORGET if self._best_ns else float(took_ns)
        self._best_ns = min(best_ns, float(took_ns))
        return (took_ns / self._best_ns - 1.0,)
