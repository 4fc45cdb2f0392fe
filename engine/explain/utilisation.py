"""How busy every lane and link was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from surplus.placement.timeline import Span, SpanKind


@dataclass(frozen=True)
class LaneUse:
    """One lane of a device, or a link, within a stretch of time.

    Parameters
    ----------
    resource : str
        Device or link.
    lane : int or None
        None for a link, which is one.
    busy_ns, idle_ns : int
        They add up to the stretch.
    """

    resource: str
    lane: int | None
    busy_ns: int
    idle_ns: int


def utilisation(
    spans: Iterable[Span], lanes: Mapping[str, int], start_ns: int, end_ns: int
) -> tuple[LaneUse, ...]:
    """Add up what lanes and links did between two moments, for whichever query.

    Parameters
    ----------
    lanes : mapping of str to int
        Lanes of every device, so that those without any span count as idle.

    Returns
    -------
    tuple of LaneUse
        Devices as ``lanes`` names them, then links by name.
    """
    held: dict[tuple[str, int | None], list[tuple[int, int]]] = {
        (device, lane): [] for device, count in lanes.items() for lane in range(count)
    }
    links: dict[tuple[str, int | None], list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        window = max(start_ns, span.start_ns), min(end_ns, span.end_ns)
        if span.kind is SpanKind.COPY:
            links[span.resource, None].append(window)
            continue
        for lane in span.lanes:
            held.setdefault((span.resource, lane), []).append(window)
    total_ns = end_ns - start_ns
    rows = [*held.items(), *sorted(links.items())]
    used = [(*key, covered_ns(windows)) for key, windows in rows]
    return tuple(LaneUse(name, lane, busy, total_ns - busy) for name, lane, busy in used)


def covered_ns(windows: Iterable[tuple[int, int]]) -> int:
    """Time in at least one window: copies in their latency overlap."""
    covered, reached = 0, None
    for start, end in sorted(windows):
        start = start if reached is None else max(start, reached)
        if end > start:
            covered += end - start
            reached = end
    return covered
