"""A model that another process runs, for the server that sends it queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine import _core
from surplus.engine.isolation.reports import ModelReport
from surplus.engine.isolation.worker_queries import WorkerQueries, outputs_of, request_of
from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.servable import Array


class IsolatedModel:
    """An ``surplus.engine.serving.servable.Servable`` over a worker.

    Plain queries of gRPC go to the worker by ``worker``, and never come here.

    Parameters
    ----------
    config : ModelConfig
        As it is written; the worker has completed it.

    Raises
    ------
    ConfigError
        If what the worker says of that is no configuration.
    """

    def __init__(
        self,
        report: ModelReport,
        config: ModelConfig,
        link: _core.WorkerLink,
        queries: WorkerQueries,
        process: int,
    ) -> None:
        self._report = report
        self.config = config.told(report.config)
        self._queries = queries
        self._process = process
        self.inputs = tuple(spec.tensor_spec() for spec in report.inputs)
        self.outputs = tuple(spec.tensor_spec() for spec in report.outputs)
        self.worker = link
        self.route = None
        self.queued_ns = 0

    def tell(self, report: ModelReport) -> None:
        """What the worker says of it now."""
        self._report = report

    @property
    def joined(self) -> int:
        """As the worker's model."""
        return self._report.joined

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """As the worker's model."""
        return self._report.batches

    @property
    def warning(self) -> str:
        """As the worker's model."""
        return self._report.warning

    @property
    def held(self) -> str:
        """As the worker's model."""
        return self._report.held

    @property
    def facts(self) -> Mapping[str, str]:
        """As the worker's model, and its process."""
        return {**self._report.facts, "process": str(self._process)}

    @property
    def failure(self) -> str:
        """Nothing for ever: the worker is started again."""
        return ""

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """Nothing: the worker refuses what it cannot answer in time."""

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query there; cancelling the awaiting task cancels it."""
        model = self._report.name, self._report.version
        request = request_of(model, inputs, outputs, priority)
        return outputs_of(await self._queries.ask(request, deadline_ns))

    def close(self) -> None:
        """Nothing: the worker ends with all its models."""
