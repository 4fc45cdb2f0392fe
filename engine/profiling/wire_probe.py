"""Copies as the wire does them, without the core: from pinned and pageable memory, one or two ways.

``link_probe.py`` says what copies of plans take; these say what they could take at best, and what
the two directions take from each other.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from surplus.engine.devices.cuda_runtime import CudaRuntime

SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20)
"""Bytes of the copies that are timed."""

_COPIES = 16


@dataclass(frozen=True)
class WireTime:
    """Copies of one kind.

    Parameters
    ----------
    direction : {"to the GPU", "from the GPU"}
    size_bytes : int
        Of each.
    pinned : bool
        Whether the host's memory is pinned.
    overlapped : bool
        Whether copies the other way go on meanwhile.
    copy_ns : float
        Time of one, of several that follow each other.
    call_ns : float
        How long the host is kept by submitting one; pageable memory keeps it for the whole copy.
    """

    direction: str
    size_bytes: int
    pinned: bool
    overlapped: bool
    copy_ns: float
    call_ns: float

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth, the fixed cost of a copy included."""
        return self.size_bytes / self.copy_ns * 1e9


@dataclass(frozen=True)
class _Way:
    """One direction with its stream, its memory and the events around its copies."""

    direction: str
    copy: Callable[[int, int, int, int], None]
    device: int
    host: int
    stream: int
    events: tuple[int, int]


def wire_times(runtime: CudaRuntime, size_bytes: int) -> list[WireTime]:
    """Both directions from pinned and pageable memory, each alone and with the other one.

    Raises
    ------
    DeviceError
        If a call of CUDA fails.
    """
    found: list[WireTime] = []
    for pinned in (True, False):
        with _two_ways(runtime, size_bytes, pinned) as (there, back):
            found.append(_timed(runtime, there, None, size_bytes, pinned))
            found.append(_timed(runtime, back, None, size_bytes, pinned))
            found.append(_timed(runtime, there, back, size_bytes, pinned))
            found.append(_timed(runtime, back, there, size_bytes, pinned))
    return found


@contextmanager
def _two_ways(runtime: CudaRuntime, size_bytes: int, pinned: bool) -> Iterator[tuple[_Way, _Way]]:
    ways: list[_Way] = []
    kept: list[object] = []
    copies = (("to the GPU", runtime.copy_in), ("from the GPU", runtime.copy_out))
    try:
        for direction, copy in copies:
            host = runtime.pinned_memory(size_bytes) if pinned else _pageable(size_bytes, kept)
            events = runtime.event(), runtime.event()
            device, stream = runtime.device_memory(size_bytes), runtime.stream()
            ways.append(_Way(direction, copy, device, host, stream, events))
        yield ways[0], ways[1]
    finally:
        for way in ways:
            runtime.wait_for(way.stream)
            runtime.destroy([way.stream], list(way.events))
            runtime.free_device_memory(way.device)
            if pinned:
                runtime.free_pinned_memory(way.host)


def _pageable(size_bytes: int, kept: list[object]) -> int:
    memory = ctypes.create_string_buffer(size_bytes)  # written once, so that its pages are there
    kept.append(memory)
    return ctypes.addressof(memory)


def _timed(
    runtime: CudaRuntime, way: _Way, beside: _Way | None, size_bytes: int, pinned: bool
) -> WireTime:
    def submit(chosen: _Way) -> None:
        chosen.copy(chosen.device, chosen.host, size_bytes, chosen.stream)

    submit(way)
    runtime.wait_for(way.stream)
    kept_ns = 0
    first, last = way.events
    runtime.record(first, way.stream)
    for _ in range(_COPIES):
        if beside is not None:
            submit(beside)
        began = time.perf_counter_ns()
        submit(way)
        kept_ns += time.perf_counter_ns() - began
    runtime.record(last, way.stream)
    for stream in (way.stream, *([beside.stream] if beside else [])):
        runtime.wait_for(stream)
    copy_ns = runtime.elapsed_ns(first, last) / _COPIES
    call_ns = kept_ns / _COPIES
    return WireTime(way.direction, size_bytes, pinned, beside is not None, copy_ns, call_ns)
