"""A query in flight, seen by its caller."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from surplus.engine import _core
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import Prepared
from surplus.placement.timeline import Timeline

if TYPE_CHECKING:
    from surplus.engine.explain.breakdown import Breakdown
    from surplus.engine.runtime.traced_run import TracedRun


class Future:
    """A query in flight."""

    def __init__(
        self, ports: Ports, prepared: Prepared, run: _core.Run, wanted: Sequence[str] | None
    ) -> None:
        self._ports = ports
        self._prepared = prepared
        self._run = run
        self._wanted = wanted

    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._run.done

    def cancel(self) -> None:
        """Ask it to stop: what has not started never will, kernels stop at their next step."""
        self._run.cancel()

    def result(self, timeout: float | None = None) -> dict[str, Array]:
        """Wait and return the outputs by name; the waiting thread helps to run segments.

        Parameters
        ----------
        timeout : float, optional
            Seconds; the query goes on when it passes.

        Raises
        ------
        TimeoutError
            If it is not done in time.
        ExecutionError, CancelledError, DeadlineError
            If it ended otherwise than well.
        """
        if not self._run.wait(-1.0 if timeout is None else timeout):
            raise TimeoutError(f"query not done after {timeout} s")
        return self._ports.answer(self._run, self._wanted, self._prepared.query)

    def __await__(self) -> Generator[Any, None, dict[str, Array]]:
        """``result`` for an event loop: a thread of its own waits; ``Model.infer`` needs none."""
        import asyncio  # who awaits has it, and who does not is spared it

        return asyncio.to_thread(self.result).__await__()

    def timeline(self) -> Timeline:
        """Spans of this query, if it was submitted with ``traced=True`` and is done."""
        return self._traced().timeline

    def breakdown(self, others: Sequence[Future] = ()) -> Breakdown:
        """Where this query's time went from its submission to its last segment's end.

        Parameters
        ----------
        others : sequence of Future
            Traced queries, of any models on the same devices, that may have been in its way.

        Raises
        ------
        EngineError
            If one of them was not submitted with ``traced=True`` or is not done.
        """
        return self._traced().breakdown([future._traced() for future in others])

    def _traced(self) -> TracedRun:
        from surplus.engine.runtime.traced_run import TracedRun  # with all that reads traces

        return TracedRun(self._prepared.plan, self._prepared.lanes, self._run)
