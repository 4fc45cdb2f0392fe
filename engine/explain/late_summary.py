"""Late queries of a model summed up: what they waited for longest, in sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from surplus.engine.explain.categories import Category
from surplus.engine.explain.late_query import LateQuery

_MOST_LANES = 4


@dataclass(frozen=True)
class LateCause:
    """What several queries waited for longest.

    Parameters
    ----------
    category : Category
        SERVICE: nothing; they take longer by themselves than they may.
    culprit : str
        The model that was in the way; empty where it was none.
    queries : int
        How many.
    waited_ns : int
        What they waited for it in all.
    segment : str
        Of the culprit's segments the one for which longest; empty where it was none.
    lanes : tuple of (str, int)
        Devices and lanes on which.
    """

    category: Category
    culprit: str
    queries: int
    waited_ns: int
    segment: str
    lanes: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LateSummary:
    """Late queries of one model.

    Parameters
    ----------
    model : str
    queries : tuple of LateQuery
        Those whose records were all there.
    unknown : int
        How many others came late.
    """

    model: str
    queries: tuple[LateQuery, ...]
    unknown: int = 0

    @staticmethod
    def of(model: str, queries: Sequence[LateQuery]) -> LateSummary:
        """Sum up late queries of a model."""
        whole = tuple(query for query in queries if query.is_whole)
        return LateSummary(model, whole, len(queries) - len(whole))

    @property
    def causes(self) -> list[LateCause]:
        """What they waited for longest, each query counted once, the most frequent first."""
        groups: dict[tuple[Category, str], list[LateQuery]] = defaultdict(list)
        for query in self.queries:
            category, culprit = query.cause
            groups[category, "" if culprit is None else culprit.model].append(query)
        ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
        return [_cause(category, culprit, found) for (category, culprit), found in ranked]

    @property
    def shares(self) -> list[tuple[Category, str, float]]:
        """Of all of their time, what went to what, and who was in the way; they add up to 1."""
        total: Counter[tuple[Category, str]] = Counter()
        for query in self.queries:
            for (category, culprit), ns in query.parts.items():
                total[category, "" if culprit is None else culprit.model] += ns
        all_ns = max(1, sum(total.values()))
        return [(*part, ns / all_ns) for part, ns in total.most_common()]

    @property
    def sentences(self) -> list[str]:
        """The causes for people."""
        count = len(self.queries)
        found = [_sentence(self.model, cause, count) for cause in self.causes]
        if self.unknown:
            found.append(f"of {self.unknown} more not all is known any more")
        return found


def _cause(category: Category, culprit: str, queries: Sequence[LateQuery]) -> LateCause:
    segments: Counter[str] = Counter()
    lanes: Counter[tuple[str, int]] = Counter()
    for query in queries:
        for (other, who), ns in query.parts.items():
            if other is category and who is not None and who.model == culprit:
                segments[who.segment] += ns
                lanes[who.device, who.lane] += ns
    waited_ns = sum(
        ns
        for query in queries
        for (other, who), ns in query.parts.items()
        if other is category and ("" if who is None else who.model) == culprit
    )
    segment = segments.most_common(1)[0][0] if segments else ""
    places = tuple(lane for lane, _ in lanes.most_common(_MOST_LANES))
    return LateCause(category, culprit, len(queries), waited_ns, segment, places)


def _sentence(model: str, cause: LateCause, count: int) -> str:
    share = f"{100 * cause.queries / count:.0f} % of {model}'s {count} misses"
    mean_ms = cause.waited_ns / cause.queries / 1e6
    return f"{share} {_reason(model, cause)} ({mean_ms:.3g} ms on the mean)"


def _reason(model: str, cause: LateCause) -> str:
    whose = "their own model's" if cause.culprit == model else f"{cause.culprit}'s"
    where = _where(cause)
    match cause.category:
        case Category.SERVICE:
            return "take longer by themselves than they may"
        case Category.SLOWER:
            return "ran for longer than usual"
        case Category.PREEMPTED:
            return f"were begun, and made way for {whose} segment {cause.segment!r}{where}"
        case Category.QUEUEING:
            return "waited for their own segments"
        case Category.ELSEWHERE:
            return f"waited for {cause.culprit}"
        case _ if cause.culprit:
            return f"waited for {whose} segment {cause.segment!r}{where}"
    return f"waited for {_OTHER.get(cause.category, cause.category.replace('_', ' '))}"


_OTHER = {
    Category.DISPATCH: "the hand-over between segments",
    Category.SUBMISSION: "a thread to begin with them",
    Category.COMPLETION: "the end after their last segment",
    Category.SEATS: "enough lanes at once",
    Category.GATE: "a wide segment that goes first",
}


def _where(cause: LateCause) -> str:
    if not cause.lanes:
        return ""
    by_device: dict[str, list[int]] = defaultdict(list)
    for device, lane in cause.lanes:
        by_device[device].append(lane)
    lists = [
        f"{'lane' if len(lanes) == 1 else 'lanes'} {', '.join(map(str, sorted(lanes)))} of {device}"
        for device, lanes in by_device.items()
    ]
    return f" on {' and '.join(lists)}"
