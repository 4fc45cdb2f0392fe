"""Where a model's time goes: several traced runs beside the plan's prediction, as rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.explain.breakdown import Breakdown, Part, median_of
from surplus.engine.explain.categories import Category
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.placement.timeline import Span, SpanKind

Row = dict[str, Any]

_WORK = (Category.SERVICE, Category.COPY)


@dataclass(frozen=True)
class Explanation:
    """Breakdown of several runs of one plan.

    Parameters
    ----------
    runs : tuple of Breakdown
        Traced runs, at least one.
    predicted : Breakdown
        Of the plan's prediction.
    operators : mapping of int to mapping of str to int
        How many operators of each type a segment has, the most frequent first.
    """

    runs: tuple[Breakdown, ...]
    predicted: Breakdown
    operators: Mapping[int, Mapping[str, int]]

    @property
    def median(self) -> Breakdown:
        """The run with the median total: its parts add up, as those of no average would."""
        return median_of(self.runs)

    def parts(self) -> list[Row]:
        """A row per category and resource: the median run's, the mean of all, the prediction's.

        ``without_ns`` is what the run would take at best without that part: a bound, since
        another path may be the longest one then.
        """
        median = self.median
        return [
            {
                "category": category.value,
                "resource": resource,
                "ns": median.parts.get((category, resource), 0),
                "share": median.share((category, resource)),
                "mean_share": statistics.fmean(b.share((category, resource)) for b in self.runs),
                "without_ns": median.total_ns - median.parts.get((category, resource), 0),
                "predicted_ns": self.predicted.parts.get((category, resource), 0),
                "predicted_share": self.predicted.share((category, resource)),
            }
            for category, resource in self._keys()
        ]

    def path(self) -> list[Row]:
        """A row per span of the median run's critical path, in the order of time."""
        return [self._step(span, parts) for span, parts in self.median.steps()]

    def lanes(self) -> list[Row]:
        """A row per lane and link: what it did during the median run, on the path or not."""
        total_ns = max(1, self.median.total_ns)
        return [
            {
                "resource": use.resource,
                "lane": use.lane,
                "busy_ns": use.busy_ns,
                "idle_ns": use.idle_ns,
                "busy_share": use.busy_ns / total_ns,
            }
            for use in self.median.lanes
        ]

    def document(self) -> Row:
        """Everything, for JSON (docs/FORMATS.md)."""
        totals = sorted(run.total_ns for run in self.runs)
        return {
            "run": f"the one with the median total of {len(self.runs)} traced runs",
            "runs": len(self.runs),
            "total_ns": self.median.total_ns,
            "shortest_ns": totals[0],
            "longest_ns": totals[-1],
            "predicted_ns": self.predicted.total_ns,
            "parts": self.parts(),
            "path": self.path(),
            "lanes": self.lanes(),
        }

    def _keys(self) -> list[Part]:
        seen = {part for breakdown in (*self.runs, self.predicted) for part in breakdown.parts}
        order = list(Category)
        return sorted(seen, key=lambda part: (order.index(part[0]), part[1]))

    def _step(self, span: Span, parts: Mapping[Category, int]) -> Row:
        work_ns = sum(parts.get(category, 0) for category in _WORK)
        copies = span.kind is SpanKind.COPY
        return {
            "name": span.name,
            "resource": span.resource,
            "width": len(span.lanes),
            "work_ns": work_ns,
            "waited_ns": sum(parts.values()) - work_ns,
            "share": sum(parts.values()) / max(1, self.median.total_ns),
            "operators": {} if copies else dict(self.operators.get(span.index, {})),
        }


def explain(model: PlannedModel, runs: Sequence[Breakdown]) -> Explanation:
    """Put traced runs of a model beside what its plan predicts.

    Raises
    ------
    ValueError
        If there are no runs.
    """
    if not runs:
        raise ValueError("nothing to explain: no traced run is given")
    operators = dict(_operators(model.graph, model.plan))
    return Explanation(tuple(runs), model.predicted_breakdown(), operators)


def _operators(graph: Graph, plan: Plan) -> Iterator[tuple[int, Mapping[str, int]]]:
    graph = planned_graph(graph, plan)
    for index, segment in enumerate(plan.segments):
        types = Counter(graph.tasks[task].node.op_type for task in segment.tasks)
        yield index, dict(types.most_common())
