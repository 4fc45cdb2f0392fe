"""One version of a model in the server and what state it is in.

Long because its executors, past and present, and what is counted of their queries are one object's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import count

from surplus.engine._core import FrontModel, FrontTally, QueryLink, Route
from surplus.engine.errors import ExecutionError, UnavailableError
from surplus.engine.repository.model_config import ModelConfig, unwritten
from surplus.engine.serving.histogram import QueryHistograms
from surplus.engine.serving.model_use import ModelUse, summed
from surplus.engine.serving.response_cache import ResponseCache
from surplus.engine.serving.servable import Array, Servable
from surplus.engine.serving.signature import Signature
from surplus.engine.serving.statistics import ModelStatistics
from surplus.engine.serving.step_counts import StepCount, step_names
from surplus.engine.serving.step_work import StepName, TellsOfSteps
from surplus.engine.serving.trouble import Trouble

_LOADS = count(1)
_QUEUE, _EXECUTING = 4, 5
"""Places of waits and of computations among ``FrontModel.take_counts``."""


class ModelState(StrEnum):
    """States of the Open Inference Protocol's repository index."""

    LOADING = "LOADING"
    READY = "READY"
    UNAVAILABLE = "UNAVAILABLE"


class ServedModel:
    """A version of a model; starts out LOADING.

    Parameters
    ----------
    name, version : str
        How clients address it.
    cache : ResponseCache, optional
        Keeps its answers, if its configuration asks for that.

    Attributes
    ----------
    is_unloaded : bool
        Whether somebody asked for it not to be served.
    note : str
        What is to be told of it while it is ready: that newer files of it are not served, say.
    told : mapping of str to str
        Facts besides those of the executor: what it takes of a budget, say.
    cost_bytes : int
        What it takes of a budget of memory; 0 where nobody measured it.
    load : int
        A number of the executor's own, of no other's in this process.
    tally : FrontTally
        What the native front end counts of it, from one load to the next.
    on_change : callable
        Called whenever queries may be answered that were not, or the other way round.
    before_change : callable
        Called before another executor, or none, takes the place of the present one.
    steps : tuple of (str, str)
        What an ensemble that is served is made of; empty of another model.
    as_step : StepCount
        What it has computed within ensembles, as of the last ``share_out``.
    """

    def __init__(self, name: str, version: str, cache: ResponseCache | None = None) -> None:
        self._cache = cache
        self.load = 0
        self.name = name
        self.version = version
        self._state = ModelState.LOADING
        self._reason = ""
        self.is_unloaded = False
        self.note = ""
        self.told: Mapping[str, str] = {}
        self.cost_bytes = 0
        self._statistics = ModelStatistics()
        self.tally = FrontTally()
        self._wait_ns = 0.0
        self.on_change: Callable[[], None] = lambda: None
        self.before_change: Callable[[], None] = lambda: None
        self.steps: tuple[StepName, ...] = ()
        self.as_step = StepCount()
        self._use: ModelUse | None = None
        self._former: list[ModelUse] = []
        self._config = unwritten(name)
        self._queued_ns = 0
        self._joined_earlier = 0
        self._batches_earlier: Mapping[int, tuple[int, int]] = {}

    def set_ready(self, executor: Servable) -> None:
        """Serve with ``executor`` from now on; closed with the data plane.

        Queries that another one has finish there (:meth:`take_idle`).
        """
        config = executor.config or unwritten(self.name).completed(
            executor.inputs, executor.outputs
        )
        self._retire()
        self._use, self._config, self.load = ModelUse(executor), config, next(_LOADS)
        self.steps = step_names(config)
        if isinstance(executor, TellsOfSteps):
            executor.take_step_work()  # of its warm-up, which is nobody's query
        self._keep_answers()
        self._queued_ns = executor.queued_ns
        self._state, self._reason, self.is_unloaded = ModelState.READY, "", False
        self.on_change()

    @property
    def answers(self) -> ResponseCache | None:
        """What keeps its answers; None if nothing does."""
        return self._cache if self._config.message.response_cache.enable else None

    @property
    def route(self) -> Route | None:
        """As of the executor."""
        return self.executor.route

    @property
    def worker(self) -> QueryLink | None:
        """As of the executor; None where Python has to look for the answer first."""
        return self.executor.worker if self.answers is None else None

    def _keep_answers(self) -> None:
        if self.answers is not None:
            self.answers.begin(self.load)

    def _forget_answers(self) -> None:
        if self._cache is not None:
            self._cache.end(self.load)

    def release(self, reason: str = "unloaded") -> None:
        """Be without an executor, as somebody has asked: queries in flight finish."""
        self.is_unloaded = True
        self._retire()
        self.set_unavailable(reason)

    def _retire(self) -> None:
        self.before_change()
        self._forget_answers()
        if self._use is None:
            return
        self._joined_earlier += self._use.joined
        self._batches_earlier = summed(self._batches_earlier, self._use.batches)
        self._former.append(self._use)
        self._use = None

    def take_idle(self) -> list[Servable]:
        """Executors of before that no query is in any more, to be closed by who takes them."""
        self._take_counts()
        idle = [use for use in self._former if not use.in_flight]
        self._former = [use for use in self._former if use.in_flight]
        return [use.executor for use in idle]

    @property
    def has_former(self) -> bool:
        """Whether there are executors to take with :meth:`take_idle`, now or later."""
        return bool(self._former)

    @contextmanager
    def used(self) -> Iterator[None]:
        """A query is in flight, by the data plane, until the end of the block.

        Raises
        ------
        UnavailableError
            If the model is not ready.
        """
        use = self._ready()
        use.in_python += 1
        try:
            yield
        finally:
            use.in_python -= 1

    def be_offered(self, front: FrontModel) -> None:
        """The native front end answers queries of it, and counts them there."""
        if self._use is not None:
            self._use.fronts.append(front)
            self._take_counts()

    @property
    def in_flight(self) -> int:
        """Queries between admission and answer."""
        return sum(use.in_flight for use in self._uses())

    @property
    def statistics(self) -> ModelStatistics:
        """Counters, with what the front end has answered until now."""
        self._take_counts()
        return self._statistics

    @property
    def times(self) -> QueryHistograms:
        """How long its queries took that were answered well, whoever answered them."""
        return QueryHistograms.of(self._statistics.times.rows(), self.tally.times())

    @property
    def trouble(self) -> Counter[Trouble]:
        """Why its queries were not answered, or not in time."""
        there = Counter(dict(zip(Trouble, self.tally.trouble(), strict=True)))
        return self._statistics.trouble + there

    def _uses(self) -> list[ModelUse]:
        return self._former if self._use is None else [*self._former, self._use]

    def _take_counts(self) -> None:
        for use in self._uses():
            for front in use.fronts:
                self._count(front)
            use.forget_idle_fronts(self._count)

    def _count(self, front: FrontModel) -> None:
        totals = front.take_counts()
        samples, waited_ns = totals[_QUEUE]
        if samples:
            self._wait_ns = waited_ns / samples
        queued_ns = int(self._wait_ns * totals[_EXECUTING][0])
        self._statistics.record_native(totals, queued_ns, front.last_ns)

    @property
    def state(self) -> ModelState:
        """Ready until somebody decides otherwise, or the executor can answer nothing any more."""
        return ModelState.UNAVAILABLE if self.failure else self._state

    @property
    def reason(self) -> str:
        """Why it is not ready; of one that is, what it goes on without."""
        if self._state is not ModelState.READY or self._use is None:
            return self._reason
        return self.failure or "; ".join(filter(None, (self._use.executor.warning, self.note)))

    @property
    def notice(self) -> str:
        """What is to be said of it that nobody has said: lanes are held, or it answers no more."""
        if self._state is not ModelState.READY or self._use is None:
            return ""
        return self.failure or self._use.executor.held

    @property
    def failure(self) -> str:
        """Why the executor can answer nothing any more; empty if it can or is not asked to."""
        if self._state is not ModelState.READY or self._use is None:
            return ""
        return self._use.executor.failure

    def unload(self) -> None:
        """Turn queries away because somebody asked for it: no fault of the server's."""
        self.is_unloaded = True
        self._forget_answers()
        self.set_unavailable("unloaded")

    def reload(self) -> None:
        """Serve again with the executor that it had; nothing if it was not unloaded."""
        if self.is_unloaded:
            self._keep_answers()
            self._state, self._reason, self.is_unloaded = ModelState.READY, "", False
            self.on_change()

    def set_unavailable(self, reason: str) -> None:
        """Turn queries away with ``reason``; queries in flight finish."""
        self._state, self._reason = ModelState.UNAVAILABLE, reason
        self.on_change()

    @property
    def executor(self) -> Servable:
        """What runs its queries.

        Raises
        ------
        UnavailableError
            If the model is not ready; the message says why.
        """
        return self._ready().executor

    @property
    def signature(self) -> Signature:
        """Its inputs and outputs.

        Raises
        ------
        UnavailableError
            If the model is not ready; the message says why.
        """
        return self._ready().signature

    @property
    def config(self) -> ModelConfig:
        """How it is configured, completed from the model once that is loaded."""
        return self._config

    @property
    def loaded(self) -> Servable | None:
        """What would run its queries, whether or not they are turned away; None before it is."""
        return None if self._use is None else self._use.executor

    def ready_signature(self) -> Signature | None:
        """Its inputs and outputs; None if it is not loaded."""
        return None if self._use is None else self._use.signature

    @property
    def joined(self) -> int:
        """Queries that were answered together with another one, by its call."""
        return self._joined_earlier + (0 if self._use is None else self._use.joined)

    @property
    def calls(self) -> int:
        """Of the model, for its own queries: those that were stacked count once."""
        return max(0, self.statistics.computed - self.joined)

    @property
    def batches(self) -> dict[int, tuple[int, int]]:
        """By how many queries a call answered, of two and more: such calls, and their time, ns."""
        now = {} if self._use is None else self._use.batches
        return summed(self._batches_earlier, now)

    def ordered(self, names: Sequence[str], outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of those names, in their order.

        Raises
        ------
        ExecutionError
            If the executor did not return one.
        """
        for name in names:
            if name not in outputs:
                raise ExecutionError(f"{self} did not return its output {name!r}")
        return {name: outputs[name] for name in names}

    def newly_queued_ns(self) -> int:
        """By how much the executor's waits have grown since the last call."""
        if self._use is None:
            return 0
        before_ns, self._queued_ns = self._queued_ns, self._use.executor.queued_ns
        return self._queued_ns - before_ns

    def close(self) -> None:
        """Free the executors. Blocks as long as their own close does."""
        self._forget_answers()
        uses, self._use, self._former = self._uses(), None, []
        self.set_unavailable("closed")
        for use in uses:
            use.executor.close()

    def __str__(self) -> str:
        return f"model {self.name!r} version {self.version}"

    def _ready(self) -> ModelUse:
        if self.state is not ModelState.READY or self._use is None:
            why = f": {self.reason}" if self.reason else ""
            raise UnavailableError(f"{self} is {self.state}{why}")
        return self._use
