"""Spans of one recorded query and of what ran meanwhile, on its own clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from surplus.engine.explain.causes import Causes, SpanKey
from surplus.engine.explain.flights import Flights, FlownRun, LaneKind, NodeCard, NodeField
from surplus.placement.timeline import Span, SpanKind, Timeline

QUERY = 0
"""Number of the query that is explained; others have that of their arrival, counted from 1."""
_NO_QUERY = -1


@dataclass
class FlownSpans:
    """What there is to explain a query with.

    Parameters
    ----------
    lanes : mapping of str to int
        Of every device; those of what is best effort are a device of their own.
    causes : Causes
        What each node of the query waits for.
    spans : list of Span
        Of the query and of others; their category is what their model is called.
    usual_ns : dict of int to int
        What the query's nodes usually take, by their index.
    borrowed : set of int
        ``id`` of spans that ran in the place of another one.
    elsewhere : set of int
        ``id`` of spans in which a lane waited for another process.
    ran : int
        Nodes of the query that ran.
    """

    lanes: Mapping[str, int]
    causes: Causes
    spans: list[Span] = field(default_factory=list)
    usual_ns: dict[int, int] = field(default_factory=dict)
    borrowed: set[int] = field(default_factory=set)
    elsewhere: set[int] = field(default_factory=set)
    ran: int = 0

    @property
    def timeline(self) -> Timeline:
        """All of them; time 0 is when the core got the query."""
        return Timeline.of(self.spans, "measured")

    @property
    def holders(self) -> Timeline:
        """Those of the query, and of others such that a lane that was lent counts once."""
        found = (self._beyond_loan(span) if self._is_loan(span) else span for span in self.spans)
        return Timeline.of((span for span in found if span is not None), "measured")

    def _is_loan(self, span: Span) -> bool:
        return id(span) in self.borrowed and span.query != QUERY

    def _beyond_loan(self, span: Span) -> Span | None:
        """What ran in a lent place once it was the lane's own: its holder had ended."""
        ends = [
            other.end_ns
            for other in self.spans
            if other is not span
            and (other.resource, other.lanes[0]) == (span.resource, span.lanes[0])
            and other.start_ns <= span.start_ns < other.end_ns
        ]
        start_ns = max(ends, default=span.start_ns)
        return replace(span, start_ns=start_ns) if start_ns < span.end_ns else None


def spans_of(flights: Flights, run: FlownRun) -> FlownSpans:
    """Make the spans that share time with a query, its own among them."""
    maker = _Maker(flights, run)
    rows = flights.between(run.begun_ns, run.end_ns).tolist()
    own = {row[NodeField.NODE]: row for row in rows if row[NodeField.ARRIVAL] == run.arrival}
    ended = {node: row[NodeField.END] for node, row in own.items()}
    calls = Counter(map(_call, rows))
    for row in rows:
        if row[NodeField.ARRIVAL] != run.arrival:
            maker.add(row, row[NodeField.START], calls[_call(row)])
    for node, row in own.items():
        maker.add(row, maker.ready_ns(node, ended), calls[_call(row)])
        maker.found.usual_ns[node] = flights.usual_ns(run.plan, node)
    for row in flights.waits_between(run.begun_ns, run.end_ns).tolist():
        maker.add_wait(row)
    maker.found.ran = len(own)
    maker.add_never_begun(ended)
    return maker.found


def _call(row: Sequence[int]) -> tuple[int, ...]:
    """What queries that were answered by one call have in common: all but who they are."""
    return tuple(value for field, value in enumerate(row) if field != NodeField.ARRIVAL)


class _Maker:
    def __init__(self, flights: Flights, run: FlownRun) -> None:
        self._flights = flights
        self._run = run
        self._nodes = self._nodes_of(run.plan)
        lanes = dict(flights.devices)
        lanes |= {_best_effort(name): count for name, count in flights.devices}
        causes: dict[SpanKey, Sequence[SpanKey]] = {
            self._key(node): [self._key(before) for before in card.after]
            for node, card in enumerate(self._nodes)
        }
        self.found = FlownSpans(lanes, causes)

    def ready_ns(self, node: int, ended: Mapping[int, int]) -> int:
        """When all that a node of the query waits for had ended."""
        before = self._nodes[node].after if node < len(self._nodes) else ()
        known = [ended[other] for other in before if other in ended]
        return max(known, default=self._run.begun_ns)

    def add(self, row: Sequence[int], ready_ns: int, queries: int) -> None:
        """A node that ran, for so many queries."""
        device, kind, arrival, plan, node, lane, start, end = row
        place = self._place(device, kind == LaneKind.BEST_EFFORT)
        query = QUERY if arrival == self._run.arrival else arrival + 1
        span = self._span((plan, node, query), place, lane, (min(ready_ns, start), start, end))
        span = replace(span, queries=queries)
        self.found.spans.append(span)
        if kind == LaneKind.BORROWED:
            self.found.borrowed.add(id(span))

    def add_wait(self, row: Sequence[int]) -> None:
        """What a lane waited for another process, whichever query it was about to go on with."""
        device, kind, _, _, process, lane, start, end = row
        begun_ns = self._run.begun_ns
        span = Span(
            kind=SpanKind.SEGMENT,
            index=-1,
            name="",
            category=self._flights.process(process),
            resource=self._place(device, kind == LaneKind.BEST_EFFORT),
            lanes=(lane,),
            ready_ns=start - begun_ns,
            start_ns=start - begun_ns,
            end_ns=end - begun_ns,
            query=_NO_QUERY,
        )
        self.found.spans.append(span)
        self.found.elsewhere.add(id(span))

    def add_never_begun(self, ended: Mapping[int, int]) -> None:
        """Of a query that was ended: what was ready and had not begun waited until then."""
        run = self._run
        for node, card in enumerate(self._nodes):
            if node in ended or not all(before in ended for before in card.after):
                continue
            is_best_effort = self._flights.plans[run.plan].best_effort
            place = self._place(card.device, is_best_effort)
            times = min(self.ready_ns(node, ended), run.end_ns), run.end_ns, run.end_ns
            self.found.spans.append(self._span((run.plan, node, QUERY), place, 0, times))

    def _span(
        self, what: tuple[int, int, int], place: str, lane: int, times: tuple[int, int, int]
    ) -> Span:
        """Of the plan, node and query in ``what``; times are those of the recording."""
        plan, node, query = what
        nodes = self._nodes_of(plan)
        card = nodes[node] if node < len(nodes) else None
        is_copy = card is not None and card.is_copy
        width = 1 if card is None or is_copy else card.width
        count = self.found.lanes.get(place, 1)
        return Span(
            kind=SpanKind.COPY if is_copy else SpanKind.SEGMENT,
            index=node,
            name=f"node {node}" if card is None else card.name,
            category=self._flights.label(plan),
            resource=_link(place) if is_copy else place,
            # The recorder knows one lane of a wide node; which others it had does not matter here.
            lanes=(lane, *(i for i in range(count) if i != lane))[:width],
            ready_ns=times[0] - self._run.begun_ns,
            start_ns=times[1] - self._run.begun_ns,
            end_ns=times[2] - self._run.begun_ns,
            query=query,
        )

    def _nodes_of(self, plan: int) -> Sequence[NodeCard]:
        card = self._flights.plans.get(plan)
        return () if card is None else card.nodes

    def _place(self, device: int, is_best_effort: bool) -> str:
        devices = self._flights.devices
        name = devices[device][0] if device < len(devices) else f"device {device}"
        return _best_effort(name) if is_best_effort else name

    def _key(self, node: int) -> SpanKey:
        """As ``causes.key_of`` calls the node's span."""
        card = self._nodes[node]
        return (card.name, _link(self._place(card.device, False))) if card.is_copy else node


def _best_effort(device: str) -> str:
    return f"{device}, best effort"


def _link(device: str) -> str:
    return f"copies of {device}"
