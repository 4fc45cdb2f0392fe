"""One version of a model in the server and what state it is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from surplus.engine._core import FrontModel
from surplus.engine.errors import ExecutionError, UnavailableError
from surplus.engine.serving.histogram import QueryHistograms
from surplus.engine.serving.servable import Array, Servable
from surplus.engine.serving.signature import Signature
from surplus.engine.serving.statistics import ModelStatistics
from surplus.engine.serving.trouble import Trouble

PLATFORM = "surplus_onnx"
BACKEND = "surplus"
_QUEUE = 4
"""Place of the waits among ``FrontModel.take_counts``."""


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

    Attributes
    ----------
    in_python : int
        Queries in flight that the data plane runs.
    on_change : callable
        Called whenever queries may be answered that were not, or the other way round.
    """

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self._state = ModelState.LOADING
        self._reason = ""
        self.is_unloaded = False
        self._statistics = ModelStatistics()
        self.in_python = 0
        self._front: FrontModel | None = None
        self._times_before, self._trouble_before = QueryHistograms(), Counter[Trouble]()
        self._wait_ns = 0.0
        self.on_change: Callable[[], None] = lambda: None
        self._loaded: tuple[Servable, Signature] | None = None
        self._queued_ns = 0
        self._joined_before = 0
        self._batches_before: Mapping[int, tuple[int, int]] = {}

    def set_ready(self, executor: Servable) -> None:
        """Serve with ``executor`` from now on; closed with the data plane."""
        self._loaded = executor, Signature(executor)
        self._queued_ns = executor.queued_ns
        self._joined_before = executor.joined
        self._batches_before = dict(executor.batches)
        self._state, self._reason, self.is_unloaded = ModelState.READY, "", False
        self.on_change()

    @property
    def front(self) -> FrontModel | None:
        """What the native front end counts of it; None where it has not been offered to one."""
        return self._front

    @front.setter
    def front(self, front: FrontModel) -> None:
        self._take_counts()
        if self._front is not None:
            self._times_before += QueryHistograms.of(self._front.times())
            self._trouble_before += _trouble(self._front)
        self._front = front

    @property
    def in_flight(self) -> int:
        """Queries between admission and answer."""
        return self.in_python + (0 if self._front is None else self._front.in_flight)

    @property
    def statistics(self) -> ModelStatistics:
        """Counters, with what the front end has answered until now."""
        self._take_counts()
        return self._statistics

    @property
    def times(self) -> QueryHistograms:
        """How long its queries took that were answered well, whoever answered them."""
        found = self._times_before + QueryHistograms.of(self._statistics.times.rows())
        return found if self._front is None else found + QueryHistograms.of(self._front.times())

    @property
    def trouble(self) -> Counter[Trouble]:
        """Why its queries were not answered, or not in time."""
        found = self._trouble_before + self._statistics.trouble
        return found if self._front is None else found + _trouble(self._front)

    def _take_counts(self) -> None:
        if self._front is None:
            return
        totals = self._front.take_counts()
        samples, waited_ns = totals[_QUEUE]
        if samples:
            self._wait_ns = waited_ns / samples
        queued_ns = int(self._wait_ns * totals[0][0])
        self._statistics.record_native(totals, queued_ns, self._front.last_ns)

    @property
    def state(self) -> ModelState:
        """Ready until somebody decides otherwise, or the executor can answer nothing any more."""
        return ModelState.UNAVAILABLE if self.failure else self._state

    @property
    def reason(self) -> str:
        """Why it is not ready; of one that is, what it goes on without."""
        if self._state is not ModelState.READY or self._loaded is None:
            return self._reason
        return self.failure or self._loaded[0].warning

    @property
    def notice(self) -> str:
        """What is to be said of it that nobody has said: lanes are held, or it answers no more."""
        if self._state is not ModelState.READY or self._loaded is None:
            return ""
        return self.failure or self._loaded[0].held

    @property
    def failure(self) -> str:
        """Why the executor can answer nothing any more; empty if it can or is not asked to."""
        if self._state is not ModelState.READY or self._loaded is None:
            return ""
        return self._loaded[0].failure

    def unload(self) -> None:
        """Turn queries away because somebody asked for it: no fault of the server's."""
        self.is_unloaded = True
        self.set_unavailable("unloaded")

    def reload(self) -> None:
        """Serve again with the executor that it had; nothing if it was not unloaded."""
        if self.is_unloaded:
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
        return self._ready()[0]

    @property
    def signature(self) -> Signature:
        """Its inputs and outputs.

        Raises
        ------
        UnavailableError
            If the model is not ready; the message says why.
        """
        return self._ready()[1]

    @property
    def loaded(self) -> Servable | None:
        """What would run its queries, whether or not they are turned away; None before it is."""
        return None if self._loaded is None else self._loaded[0]

    def ready_signature(self) -> Signature | None:
        """Its inputs and outputs; None if it is not loaded."""
        return None if self._loaded is None else self._loaded[1]

    @property
    def joined(self) -> int:
        """Queries that were answered together with another one, by its call."""
        return 0 if self._loaded is None else max(0, self._loaded[0].joined - self._joined_before)

    @property
    def batches(self) -> dict[int, tuple[int, int]]:
        """By how many queries a call answered, of two and more: such calls, and their time, ns."""
        if self._loaded is None:
            return {}
        found = {}
        for size, (calls, took_ns) in self._loaded[0].batches.items():
            calls_before, before_ns = self._batches_before.get(size, (0, 0))
            if calls > calls_before:
                found[size] = calls - calls_before, took_ns - before_ns
        return found

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
        if self._loaded is None:
            return 0
        before_ns, self._queued_ns = self._queued_ns, self._loaded[0].queued_ns
        return self._queued_ns - before_ns

    def close(self) -> None:
        """Free the executor. Blocks as long as the executor's own close does."""
        loaded, self._loaded = self._loaded, None
        self.set_unavailable("closed")
        if loaded is not None:
            loaded[0].close()

    def __str__(self) -> str:
        return f"model {self.name!r} version {self.version}"

    def _ready(self) -> tuple[Servable, Signature]:
        if self.state is not ModelState.READY or self._loaded is None:
            why = f": {self.reason}" if self.reason else ""
            raise UnavailableError(f"{self} is {self.state}{why}")
        return self._loaded


def _trouble(front: FrontModel) -> Counter[Trouble]:
    return Counter(dict(zip(Trouble, front.trouble(), strict=True)))
