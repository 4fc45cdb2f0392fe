"""Colours of operator types, the same in every panel of one chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from surplus.placement.timeline import SpanKind, Timeline

OTHER = "other"
COPY_COLOUR = "#33363b"
_OTHER_COLOUR = "#c9ccd1"
# Distinct for the common forms of colour blindness as far as eleven hues can be.
COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377",
    "#ee9944", "#9988dd", "#885522", "#77bbaa", "#dd99bb",
)  # fmt: skip


def palette(timelines: Iterable[Timeline]) -> dict[str, str]:
    """Colour by category: the ones with most time get hues, the rest shares ``other``.

    Returns
    -------
    dict of str to str
        Category -> ``#rrggbb`` in the order of the legend: by total time, then name.
    """
    busy: Counter[str] = Counter()
    copies: set[str] = set()
    for timeline in timelines:
        for span in timeline:
            busy[span.category] += span.duration_ns * max(1, len(span.lanes))
            if span.kind is SpanKind.COPY:
                copies.add(span.category)
    ranked = sorted(busy.keys() - copies, key=lambda category: (-busy[category], category))
    colours = dict(zip(ranked, COLOURS, strict=False))
    colours |= dict.fromkeys(ranked[len(COLOURS) :], _OTHER_COLOUR)
    return colours | dict.fromkeys(sorted(copies), COPY_COLOUR)


def legend(colours: dict[str, str]) -> list[tuple[str, str]]:
    """Label and colour of each entry, the grey rest as one."""
    rest = sum(colour == _OTHER_COLOUR for colour in colours.values())
    rows = [row for row in colours.items() if row[1] not in (_OTHER_COLOUR, COPY_COLOUR)]
    rows += [(f"{OTHER} ({rest} types)", _OTHER_COLOUR)] if rest else []
    return rows + [("copy", COPY_COLOUR)] * (COPY_COLOUR in colours.values())
