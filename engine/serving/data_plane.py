"""The protocol-free heart of the server: which model, may it run, is the query valid, by when.

Single-threaded: every method is called on the event loop that runs the executors.
Long because a query's ways to be turned away, to end and to be waited for are one object's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from surplus.engine import _core
from surplus.engine.errors import (
    DeadlineError,
    EngineError,
    ExecutionError,
    QueueFullError,
    RefusedError,
    UnavailableError,
)
from surplus.engine.serving.cached_answers import answered
from surplus.engine.serving.front import Front
from surplus.engine.serving.in_flight import InFlight
from surplus.engine.serving.log_settings import LogSettings
from surplus.engine.serving.metrics.policy_sample import PolicySample
from surplus.engine.serving.metrics.replica_sample import ReplicaSample
from surplus.engine.serving.metrics.worker_sample import WorkerSample
from surplus.engine.serving.model_control import ModelControl
from surplus.engine.serving.model_table import ModelTable
from surplus.engine.serving.response_cache import ResponseCache
from surplus.engine.serving.seen_queries import SeenQueries
from surplus.engine.serving.seen_query import SeenQuery
from surplus.engine.serving.sequences.sequence_step import SequenceStep, asked
from surplus.engine.serving.servable import Array
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.server_params import MAX_IN_FLIGHT
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.statistics import Moments
from surplus.engine.serving.trace_settings import TraceSettings
from surplus.engine.serving.trouble import Trouble, trouble_of

A = TypeVar("A")
Clock = Callable[[], int]

_LONGEST_TIMEOUT_NS = 366 * 24 * 3600 * 10**9  # keeps deadlines within 64 bits


@dataclass(frozen=True)
class DataPlaneParams:
    """Limits of a data plane.

    Parameters
    ----------
    max_in_flight : int
        Queries of one model between admission and answer, for the sake of memory; the next is
        turned away at once.
    response_cache_bytes : int
        What answers may take that are kept, of models that ask for that; 0 keeps none.
    """

    max_in_flight: int = MAX_IN_FLIGHT
    response_cache_bytes: int = 0

    def __post_init__(self) -> None:
        if self.max_in_flight < 1:
            raise ValueError(f"max_in_flight is {self.max_in_flight}, must be at least 1")


@dataclass(frozen=True)
class InferQuery:
    """A decoded query.

    Parameters
    ----------
    inputs : sequence of (str, array)
        As they came: possibly incomplete, unknown or twice the same.
    outputs : sequence of str
        Requested outputs; empty means all.
    received_ns : int
        When it arrived, on the data plane's clock.
    deadline_ns : int or None
        On the same clock.
    priority : int
        As in :meth:`Executor.infer`.
    id, trace_parent : str
        What its client calls it, and W3C's header; empty where it says nothing.
    sequence : SequenceStep or None
        Which sequence it is of.
    """

    inputs: Sequence[tuple[str, Array]]
    outputs: Sequence[str]
    received_ns: int
    deadline_ns: int | None = None
    priority: int = 0
    id: str = ""
    trace_parent: str = ""
    sequence: SequenceStep | None = None


def deadline_after(received_ns: int, timeouts_ns: Sequence[int]) -> int | None:
    """The earliest of the moments at which a query's timeouts pass; None if it has none."""
    if not timeouts_ns:
        return None
    return received_ns + min(*timeouts_ns, _LONGEST_TIMEOUT_NS)


class DataPlane:
    """Models and the queries to them.

    Parameters
    ----------
    params : DataPlaneParams
        Limits.
    clock_ns : callable
        Monotonic; executors read deadlines on ``time.monotonic_ns``.

    Attributes
    ----------
    control : ModelControl, optional
        Loads and unloads models on request; None keeps them as they are.
    front : Front, optional
        Answers queries that never come here.
    regions : SharedRegions
        Shared memory that clients registered.
    log : LogSettings
        What of the process's log is written.
    traces : TraceSettings
        Which queries become spans.
    memory : _core.MemoryAccount
        What requests, values and answers are counted in.
    workers : callable
        Says what the processes are that run models for this one.
    replicas : callable
        Says what the servers do that answer queries for this one.
    policies : callable
        Says how well the policies do that decide when queries run.
    """

    def __init__(
        self, params: DataPlaneParams | None = None, clock_ns: Clock = time.monotonic_ns
    ) -> None:
        self._params = params or DataPlaneParams()
        kept_bytes = self._params.response_cache_bytes
        self.models = ModelTable(ResponseCache(kept_bytes) if kept_bytes else None)
        self.clock_ns = clock_ns
        self.control: ModelControl | None = None
        self.front: Front | None = None
        self.memory = _core.MemoryAccount()
        self.workers: Callable[[], Sequence[WorkerSample]] = tuple
        self.replicas: Callable[[], Sequence[ReplicaSample]] = tuple
        self.policies: Callable[[], Sequence[PolicySample]] = tuple
        self.regions = SharedRegions()
        self.log = LogSettings()
        self.traces = TraceSettings()
        self._seen = SeenQueries()
        self._in_flight = InFlight()
        self._draining = False
        self._leaving = False

    @property
    def ready(self) -> bool:
        """Whether queries are admitted and every model is ready."""
        return not (self._leaving or self._draining) and self.models.all_ready()

    def admit(self, name: str, version: str = "") -> ServedModel:
        """Model for a query that follows at once; lets a face turn it away before decoding it.

        Raises
        ------
        UnknownModelError
            If there is no such model or version.
        UnavailableError
            If the model is not ready, or the server is draining.
        QueueFullError
            If the model has ``max_in_flight`` queries already.
        """
        if self._draining:
            raise UnavailableError("the server is shutting down")
        model = self.models.find(name, version)
        _ = model.executor
        self._check_room(model)
        return model

    def foresee(self, model: ServedModel, deadline_ns: int | None, priority: int) -> None:
        """Turn away at once, before it is decoded, what would be refused.

        Parameters are those of :class:`InferQuery`.

        Raises
        ------
        RefusedError
            If it cannot be in time, or would wait for too long.
        """
        try:
            model.executor.foresee(deadline_ns, priority)
        except RefusedError as error:
            model.statistics.record_failure(error, 0)
            raise

    async def infer(
        self, model: ServedModel, query: InferQuery, encode: Callable[[dict[str, Array]], A]
    ) -> A:
        """Run a query on a model that :meth:`admit` gave.

        Parameters
        ----------
        encode : callable
            Makes the answer of the requested outputs, which come in the order of the request; its
            time counts as the query's.

        Raises
        ------
        InputError
            If inputs or outputs do not fit the model; the message names them.
        QueueFullError, RefusedError, DeadlineError, CancelledError, ExecutionError
            As the executor does.
        UnavailableError
            If the server shut down before the query finished.
        """
        self._check_room(model)
        try:
            return await self._run(model, query, encode)
        except BaseException as error:
            ended_ns = self.clock_ns()
            model.statistics.record_failure(error, ended_ns - query.received_ns)
            moments = Moments(query.received_ns, *(ended_ns,) * 3)
            self._remember(model, query, moments, trouble_of(error))
            raise

    def controlled(self) -> ModelControl:
        """What loads and unloads models.

        Raises
        ------
        UnavailableError
            If this server keeps its models as they are.
        """
        if self.control is None:
            raise UnavailableError("this server keeps its models as they were at its start")
        return self.control

    async def unlisted(self) -> Sequence[str]:
        """Names of models that could be loaded and never were."""
        return () if self.control is None else await self.control.unlisted()

    def leave(self) -> None:
        """Be ready no more, and admit queries all the same: who sends them is to notice."""
        self._leaving = True
        if self.front is not None:
            self.front.leave()

    async def drain(self, timeout_s: float) -> bool:
        """Admit nothing more, finish what is in flight; after the timeout cancel what is left.

        Returns
        -------
        bool
            Whether everything finished in time.
        """
        self._draining = True
        end_s = time.monotonic() + timeout_s
        finished = True
        if self.front is not None:
            self.front.drain()
            finished = await self.front.wait_idle(timeout_s)
        left_s = max(0.0, end_s - time.monotonic())
        finished = await self._in_flight.wait_idle(left_s) and finished
        if not finished:
            self.abandon()
        return finished

    def abandon(self) -> None:
        """Admit nothing more and cancel what is in flight, drained or not."""
        self._draining = True
        self._in_flight.abandon()
        if self.front is not None:
            self.front.abandon()

    @property
    def in_flight(self) -> int:
        """Queries between admission and answer."""
        return len(self._in_flight) + (0 if self.front is None else self.front.in_flight)

    def seen(self) -> list[SeenQuery]:
        """The last queries that ended, by when they were answered, whoever answered them."""
        there = [] if self.front is None else self.front.recent()
        return sorted([*self._seen.last(), *there], key=lambda query: query.answered_ns)

    def sample(self, every: int, *, follows: bool) -> None:
        """As ``SeenQueries.sample``, of all queries; once the front end is there."""
        self._seen.sample(every, follows=follows)
        if self.front is not None:
            self.front.sample(every, follows=follows)

    def take_sampled(self) -> list[SeenQuery]:
        """Those that were kept since the last call, whoever answered them."""
        there = [] if self.front is None else self.front.take_sampled()
        return [*self._seen.take_sampled(), *there]

    def close(self) -> None:
        """Close every model. Blocks as long as the executors' own close does."""
        for model in self.models:
            model.close()

    def _check_room(self, model: ServedModel) -> None:
        if model.in_flight >= self._params.max_in_flight:
            full = QueueFullError(f"{model} has {model.in_flight} queries in flight, its limit")
            model.statistics.record_failure(full, 0)
            raise full

    async def _run(
        self, model: ServedModel, query: InferQuery, encode: Callable[[dict[str, Array]], A]
    ) -> A:
        signature = model.signature
        inputs = signature.check_inputs(query.inputs)
        names = signature.check_outputs(query.outputs)
        requested = names if query.outputs else None
        started_ns = self.clock_ns()
        try:
            with model.used(), self._in_flight.enter(), asked(query.sequence):
                outputs, was_kept = await answered(
                    model,
                    inputs,
                    names,
                    self.clock_ns,
                    lambda: self._execute(model, inputs, requested, query),
                )
        except EngineError:
            raise
        except Exception as error:
            raise ExecutionError(f"{model} failed: {type(error).__name__}: {error}") from error
        ended_ns = self.clock_ns()
        answer = encode(model.ordered(names, outputs))
        moments = Moments(query.received_ns, started_ns, ended_ns, self.clock_ns())
        queued_ns = 0 if was_kept else model.newly_queued_ns()
        if was_kept:
            model.statistics.record_kept(moments)
        else:
            model.statistics.record_success(moments, queued_ns)
        is_late = query.deadline_ns is not None and ended_ns > query.deadline_ns
        model.statistics.trouble[Trouble.LATE] += is_late
        self._remember(model, query, moments, Trouble.LATE if is_late else None, queued_ns)
        return answer

    def _remember(
        self,
        model: ServedModel,
        query: InferQuery,
        moments: Moments,
        trouble: Trouble | None,
        waited_ns: int = -1,
    ) -> None:
        """A query that has ended, so that it can be looked at."""
        whose = model.name, model.version, query.id, query.trace_parent
        times = moments.received_ns, moments.started_ns, moments.ended_ns, moments.answered_ns
        self._seen.add(SeenQuery(*whose, 0, 0, *times, waited_ns, trouble))

    async def _execute(
        self,
        model: ServedModel,
        inputs: dict[str, Array],
        outputs: Sequence[str] | None,
        query: InferQuery,
    ) -> dict[str, Array]:
        """Run the executor; cancel it at the deadline, should it not watch for it itself."""
        deadline_ns, priority = query.deadline_ns, query.priority
        if deadline_ns is None:
            return await model.executor.infer(inputs, outputs, None, priority)
        remaining_ns = deadline_ns - self.clock_ns()
        if remaining_ns <= 0:
            raise DeadlineError("the query's deadline passed before it started")
        try:
            async with asyncio.timeout(remaining_ns / 1e9):
                return await model.executor.infer(inputs, outputs, deadline_ns, priority)
        except DeadlineError:
            raise
        except TimeoutError as error:
            raise DeadlineError("the query's deadline passed before it finished") from error
