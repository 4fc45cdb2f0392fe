"""A query in flight, seen by its caller."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from surplus.engine import _core
from surplus.engine.errors import CancelledError
from surplus.engine.runtime.inputs import Outputs
from surplus.engine.runtime.ports import Ports, failure_of
from surplus.engine.runtime.prepared import Prepared
from surplus.placement.timeline import Timeline

if TYPE_CHECKING:
    from surplus.engine.explain.breakdown import Breakdown
    from surplus.engine.runtime.traced_run import TracedRun

_JOINING = threading.Lock()


class _Joined:
    """An attribute of the standard library's future, there from when it is first asked for.

    An instance's own attribute of that name goes before it from then on.
    """

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, future: Future | None, _: type) -> Any:
        if future is None:
            return self
        future._join()
        return future.__dict__[self._name]


class Future(concurrent.futures.Future[Outputs]):
    """A query in flight, which ``Model.submit`` started. Thread-safe.

    It is one of ``concurrent.futures``: ``wait``, ``as_completed`` and ``asyncio.wrap_future`` take
    it. What these need is made when they first ask, so that a query that is just waited for does
    not pay for it.
    """

    _condition = _Joined()
    _state = _Joined()
    _result = _Joined()
    _exception = _Joined()
    _waiters = _Joined()
    _done_callbacks = _Joined()

    def __init__(
        self, ports: Ports, prepared: Prepared, run: _core.Run, wanted: Sequence[str] | None
    ) -> None:
        self._ports = ports
        self._prepared = prepared
        self._run = run
        self._wanted = wanted

    @property
    def run(self) -> _core.Run:
        """What is in flight."""
        return self._run

    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._run.done

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._run.done

    def cancel(self) -> bool:
        """Ask it to stop: what has not started never will, kernels stop at their next step.

        Returns
        -------
        bool
            False if it had ended otherwise already.
        """
        if self._run.done:
            return self.cancelled()
        self._run.cancel()
        return True

    def cancelled(self) -> bool:
        """Whether it has ended because somebody cancelled it."""
        return self._run.done and self._run.status == "cancelled"

    def result(self, timeout: float | None = None) -> Outputs:
        """Wait and return the outputs by name; the waiting thread helps to run segments.

        Parameters
        ----------
        timeout : float, optional
            Seconds; the query goes on when it passes.

        Raises
        ------
        TimeoutError
            If it is not done in time.
        surplus.ExecutionError, surplus.CancelledError, surplus.DeadlineError
            If it ended otherwise than well.
        """
        self._wait(timeout)
        return self._ports.answer(self._run, self._wanted, self._prepared.query)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait and return what ``result`` would raise; None if it would return.

        Raises
        ------
        TimeoutError
            If it is not done in time.
        surplus.CancelledError
            If it was cancelled.
        """
        self._wait(timeout)
        failure = failure_of(self._run)
        if isinstance(failure, CancelledError):
            raise failure
        return failure

    def add_done_callback(self, fn: Callable[[Future], object]) -> None:
        """Call ``fn`` with the future when it has ended, from another thread; at once if it has.

        What ``fn`` raises is logged.
        """
        super().add_done_callback(fn)  # type: ignore[arg-type]

    def __await__(self) -> Generator[Any, None, Outputs]:
        """``result`` for an event loop; who is cancelled meanwhile cancels the query.

        A thread waits, which helps; ``Model.infer`` needs none.
        """
        return self._awaited().__await__()

    async def _awaited(self) -> Outputs:
        import asyncio  # who awaits has it, and who does not is spared it

        try:
            return await asyncio.to_thread(self.result)
        except asyncio.CancelledError:
            self._run.cancel()
            raise

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
        surplus.EngineError
            If one of them was not submitted with ``traced=True`` or is not done.
        """
        return self._traced().breakdown([future._traced() for future in others])

    def _traced(self) -> TracedRun:
        from surplus.engine.runtime.traced_run import TracedRun  # with all that reads traces

        return TracedRun(self._prepared.plan, self._prepared.lanes, self._run)

    def _wait(self, timeout: float | None) -> None:
        if not self._run.wait(-1.0 if timeout is None else timeout):
            raise TimeoutError(f"query not done after {timeout} s")

    def _join(self) -> None:
        """Become a future whose end others are told of."""
        with _JOINING:
            if "_done_callbacks" in self.__dict__:  # the last one that it makes
                return
            super().__init__()
        if self._run.done:
            self.publish()
        else:
            from surplus.engine.runtime import run_watch  # of futures with callbacks

            run_watch.OF_PROCESS.add(self)

    def publish(self) -> None:
        """Tell who waits that it has ended."""
        failure = failure_of(self._run)
        if isinstance(failure, CancelledError):
            super().cancel()
            self.set_running_or_notify_cancel()
        elif failure is not None:
            self.set_exception(failure)
        else:
            self.set_result({})  # ``result`` makes the arrays, when somebody asks

    def __repr__(self) -> str:
        state = self._run.status if self._run.done else "in flight"
        return f"<surplus.Future of {self._ports.name!r}: {state}>"
