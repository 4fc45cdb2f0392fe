"""What became of each query, deed by deed: nothing is left out, nothing counts twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from bench.chaos.chaos_load import WAYS, ChaosLoad
from bench.chaos.setting import SLO_MS

REFUSED = "RESOURCE_EXHAUSTED"


class Ending(NamedTuple):
    """Of a query."""

    number: int
    sent_ns: int
    end_ns: int
    outcome: str


@dataclass(frozen=True)
class Span:
    """The time of a deed.

    Parameters
    ----------
    deed : str
    begin_ns, end_ns : int
        Of the monotonic clock; queries that were to be sent then are of it.
    done : int
        How often.
    back_s : sequence of float
        Until servers that were hit answered again.
    """

    deed: str
    begin_ns: int
    end_ns: int
    done: int = 0
    back_s: Sequence[float] = field(default=())


def read_endings(path: Path) -> list[Ending]:
    """Of a file that ``asker`` wrote; a line that was cut short is none."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if len(parts := line.split("\t")) == 4:
            number, sent_ns, end_ns = map(int, parts[:3])
            found.append(Ending(number, sent_ns, end_ns, parts[3]))
    return found


def account_rows(
    load: ChaosLoad, begin_ns: int, endings: Iterable[Ending], spans: Sequence[Span]
) -> list[dict[str, Any]]:
    """A row for each deed and each way that queries go, and one for all."""
    first: dict[int, Ending] = {}
    again: Counter[int] = Counter()
    for ending in endings:
        if ending.number in first:
            again[ending.number] += 1
        else:
            first[ending.number] = ending
    place = np.searchsorted([span.begin_ns for span in spans], begin_ns + load.send_ns, "right") - 1
    rows = []
    for way in WAYS:
        own = range(WAYS.index(way), load.queries, len(WAYS))
        for number, span in enumerate(spans):
            sent = [k for k in own if max(0, place[k]) == number]
            row = _row(load, begin_ns, sent, first, again)
            gap_s = _longest_gap_s(load, own, first, span)
            rows.append(
                {"deed": span.deed, "times": span.done, "asked by": way, **row}
                | {"longest without an answer s": gap_s, **_back(span.back_s)}
            )
    total = _row(load, begin_ns, range(load.queries), first, again)
    late_ns = max((e.sent_ns - begin_ns - load.send_ns[k] for k, e in first.items()), default=0)
    sent_late = {"sent late s, most": round(float(late_ns) / 1e9, 2)}
    return [*rows, {"deed": "all", "asked by": "both", **total, **sent_late}]


def _row(
    load: ChaosLoad,
    begin_ns: int,
    sent: Sequence[int],
    first: Mapping[int, Ending],
    again: Counter[int],
) -> dict[str, Any]:
    known = [first[k] for k in sent if k in first]
    outcomes = Counter(ending.outcome.partition(" ")[0] for ending in known)
    late = sum(
        ending.outcome == "right"
        and ending.end_ns - begin_ns - int(load.send_ns[ending.number]) > SLO_MS * 1e6
        for ending in known
    )
    named = {
        kind: count
        for kind, count in sorted(outcomes.items())
        if kind not in ("right", "wrong", "unnamed", REFUSED)
    }
    return {
        "queries": len(sent),
        "in time": outcomes["right"] - late,
        "late": late,
        "refused": outcomes[REFUSED],
        "failed": sum(named.values()),
        "of which": ", ".join(f"{count} {kind}" for kind, count in named.items()),
        "wrong": outcomes["wrong"],
        "twice": sum(again[k] for k in sent),
        "unaccounted": len(sent) - len(known) + outcomes["unnamed"],
    }


def _longest_gap_s(
    load: ChaosLoad, own: Sequence[int], first: Mapping[int, Ending], span: Span
) -> float:
    """From one right answer to the next, of either model, where the first came in the span."""
    longest_ns = 0
    for is_wide in (True, False):
        ends = [first[k].end_ns for k in own if load.is_wide[k] == is_wide and _is_right(first, k)]
        ends_ns = np.sort(np.array(ends, np.int64))
        gaps_ns = np.diff(ends_ns)
        in_span = (ends_ns[:-1] >= span.begin_ns) & (ends_ns[:-1] < span.end_ns)
        longest_ns = max(longest_ns, int(gaps_ns[in_span].max(initial=0)))
    return round(longest_ns / 1e9, 2)


def _is_right(first: Mapping[int, Ending], number: int) -> bool:
    return number in first and first[number].outcome == "right"


def _back(back_s: Sequence[float]) -> dict[str, Any]:
    if not back_s:
        return {"back s, median": "", "back s, most": ""}
    return {"back s, median": round(median(back_s), 2), "back s, most": round(max(back_s), 2)}


def faults(
    rows: Sequence[Mapping[str, Any]], answered: Mapping[str, int], behind_the_route: int
) -> list[str]:
    """What must never be: queries that nobody knows of, wrong answers, more of them than queries.

    Parameters
    ----------
    answered : mapping of str to int
        Answers that came over each way, by the clients' own books.
    behind_the_route : int
        Answers that its servers gave the route.
    """
    *each, total = rows
    found = [f"{total[key]} {key}" for key in ("wrong", "twice", "unaccounted") if total[key]]
    told = dict.fromkeys(WAYS, 0)
    failed = dict.fromkeys(WAYS, 0)
    for row in each:
        told[row["asked by"]] += row["in time"] + row["late"] + row["wrong"]
        failed[row["asked by"]] += row["failed"]
    for way, count in answered.items():
        if count != told[way]:
            found.append(f"{way}: {count} answers came, {told[way]} were told")
    # Those between are of queries that had waited for too long.
    if not told["route"] <= behind_the_route <= told["route"] + failed["route"]:
        found.append(f"servers gave the route {behind_the_route} answers for {told['route']}")
    return found
