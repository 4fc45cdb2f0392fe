"""Whether tasks on lanes that slow each other last as long as they may.

The factor of a task is that of the lanes that are busy when it starts, its own included. Of tasks
that start at one instant a timeline does not say which came first, and one without length may be
over before the next. So a duration is right if some order explains it: a task counts at least the
lanes that were busy before, its own, and those of the lasting tasks that came before it; at most
all that start with it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby

from surplus.placement.problem import Device
from surplus.placement.timeline import Span

Fault = tuple[Span, str]
"""A span, and what it should have lasted."""


def unexplained(
    device: Device, spans: Sequence[Span], service_ns: Mapping[int, int]
) -> Iterator[Fault]:
    """Tasks of one device whose durations no order of starts explains.

    Parameters
    ----------
    service_ns : mapping of int to int
        By index of the task: what it takes if nothing slows it.
    """
    running: list[tuple[int, int]] = []
    busy = 0
    for start_ns, group in groupby(sorted(spans, key=lambda s: s.start_ns), lambda s: s.start_ns):
        together = list(group)
        while running and running[0][0] <= start_ns:
            busy -= heappop(running)[1]
        yield from _at_one_instant(device, together, service_ns, busy)
        for span in together:
            busy += len(span.lanes)
            heappush(running, (span.end_ns, len(span.lanes)))


def _at_one_instant(
    device: Device, together: Sequence[Span], service_ns: Mapping[int, int], busy: int
) -> Iterator[Fault]:
    most = min(device.lanes, busy + sum(len(span.lanes) for span in together))
    lasting: list[tuple[int, Span]] = []
    for span in together:
        service, least = service_ns[span.index], busy + len(span.lanes)
        counts = [b for b in range(least, most + 1) if _explains(device, service, b, span)]
        if not counts:
            yield span, f"{device.slowed_ns(service, least)} ns with {least} lanes busy"
        elif span.duration_ns > 0:
            lasting.append((counts[-1], span))
    # Each counts those before it: the one that may count the fewest comes first, as by due dates.
    before = busy
    for count, span in sorted(lasting, key=lambda row: row[0]):
        before += len(span.lanes)
        if before > count:
            service = service_ns[span.index]
            yield span, f"{device.slowed_ns(service, before)} ns with {before} lanes busy"


def _explains(device: Device, service_ns: int, busy: int, span: Span) -> bool:
    return device.slowed_ns(service_ns, busy) == span.duration_ns
