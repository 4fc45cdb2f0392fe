"""A traced query, asked where its time went: spans are made on the first look only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine import _core
from surplus.engine.explain.breakdown import Breakdown, breakdown
from surplus.engine.explain.causes import causes_of
from surplus.engine.runtime.measured import Traced, together, traced_query
from surplus.engine.segmentation.plan import Plan
from surplus.placement.timeline import Timeline


class TracedRun:
    """What a traced query recorded, with the plan that it followed.

    Queries do not pay for reading spans, and a model may have another plan by the time that
    somebody looks (device_loss.py).

    Parameters
    ----------
    lanes : mapping of str to int
        Lanes by device.
    run : _core.Run or _core.Recording
        Of the plan.
    moments : sequence of int, optional
        Those of ``CallTimes`` on ``time.monotonic_ns``'s clock.
    """

    __slots__ = ("_lanes", "_moments", "_plan", "_run", "_traced")

    def __init__(
        self,
        plan: Plan,
        lanes: Mapping[str, int],
        run: _core.Run | _core.Recording,
        moments: Sequence[int] = (),
    ) -> None:
        self._plan = plan
        self._lanes = lanes
        self._run = run
        self._moments = moments
        self._traced: Traced | None = None

    @property
    def traced(self) -> Traced:
        """Its spans.

        Raises
        ------
        EngineError
            If the query was not traced or is not done.
        """
        if self._traced is None:
            self._traced = traced_query(self._plan, self._run, self._lanes, self._moments)
        return self._traced

    @property
    def timeline(self) -> Timeline:
        """Its spans, from the submission on; raises as ``traced`` does."""
        return self.traced.timeline

    def breakdown(self, others: Sequence[TracedRun] = ()) -> Breakdown:
        """Where its time went, the caller's side included if that was recorded.

        Parameters
        ----------
        others : sequence of TracedRun
            Queries, of any models on the same devices, that may have been in its way.

        Raises
        ------
        EngineError
            If one of them was not traced or is not done.
        """
        spans = self.timeline
        if others:
            spans = together([run.traced for run in (self, *others)])
        return breakdown(
            spans,
            lanes=self._lanes,
            causes=causes_of(self._plan),
            call=self.traced.call,
        )
