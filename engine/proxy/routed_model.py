"""A model that other servers run, for the one that sends them its queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from surplus.engine import _core
from surplus.engine.isolation.worker_queries import WorkerQueries, outputs_of, request_of
from surplus.engine.proxy.asked_replica import ModelDescription
from surplus.engine.repository.model_config import unwritten
from surplus.engine.serving.servable import Array


class RoutedModel:
    """An ``surplus.engine.serving.servable.Servable`` over several servers.

    Plain queries go to them by ``worker``, and never come here; those over REST where all of them
    are known by it.

    Parameters
    ----------
    version : str
        That the servers are asked for; empty: their newest.
    reached : callable
        Addresses of the model's servers that can be reached now.

    Raises
    ------
    ConfigError
        If what the server says of its configuration is none.
    """

    def __init__(
        self,
        description: ModelDescription,
        version: str,
        link: _core.Replicas,
        queries: WorkerQueries,
        reached: Callable[[], Sequence[str]],
    ) -> None:
        self._model = description.name, version
        self._queries = queries
        self._reached = reached
        self.config = unwritten(description.name).told(description.config)
        self.inputs = description.inputs
        self.outputs = description.outputs
        self.worker: _core.QueryLink = link
        self.route = None
        self.queued_ns = 0
        self.joined = 0
        self.batches: Mapping[int, tuple[int, int]] = {}
        self.warning = ""
        self.held = ""

    @property
    def facts(self) -> Mapping[str, str]:
        """Who can be asked."""
        return {"servers": ", ".join(self._reached())}

    @property
    def failure(self) -> str:
        """Why nobody can be asked; empty if somebody can."""
        return "" if self._reached() else "no server that has it can be reached"

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """Nothing: the servers refuse what they cannot answer in time."""

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Have one query answered there; cancelling the awaiting task cancels it."""
        request = request_of(self._model, inputs, outputs, priority)
        return outputs_of(await self._queries.ask(request, deadline_ns))

    def close(self) -> None:
        """Nothing: connections end with the last model."""
