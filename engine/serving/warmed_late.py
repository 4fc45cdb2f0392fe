"""An ensemble whose steps its first query loads: its own warm-up comes before that query."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from surplus.engine.repository.model_config import ModelConfig
from surplus.engine.serving.chained_executor import ChainedExecutor
from surplus.engine.serving.servable import Array
from surplus.engine.serving.step_work import StepWork
from surplus.engine.serving.warm_up import asked_warm_ups


class WarmedLate:
    """An ``surplus.engine.serving.servable.Servable`` over one that is not warm yet.

    Queries that come while it is warmed wait for that; if it fails, so do they, and the next one
    has it tried again.

    Parameters
    ----------
    executor : ChainedExecutor
        Another's no more.
    """

    route = None
    worker = None

    def __init__(self, executor: ChainedExecutor) -> None:
        self._executor = executor
        self.inputs = executor.inputs
        self.outputs = executor.outputs
        self.config: ModelConfig | None = executor.config
        self._warming: asyncio.Task[None] | None = None
        self._is_warm = self.config is None or not self.config.message.model_warmup

    @property
    def queued_ns(self) -> int:
        """As of the other."""
        return self._executor.queued_ns

    @property
    def joined(self) -> int:
        """As of the other."""
        return self._executor.joined

    @property
    def batches(self) -> Mapping[int, tuple[int, int]]:
        """As of the other."""
        return self._executor.batches

    @property
    def warning(self) -> str:
        """As of the other."""
        return self._executor.warning

    @property
    def held(self) -> str:
        """As of the other."""
        return self._executor.held

    @property
    def facts(self) -> Mapping[str, str]:
        """As of the other."""
        return self._executor.facts

    @property
    def failure(self) -> str:
        """As of the other."""
        return self._executor.failure

    def take_step_work(self) -> list[StepWork]:
        """As of the other, without its warm-up."""
        return self._executor.take_step_work()

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """As of the other; how long a warm-up takes is not predicted."""
        self._executor.foresee(deadline_ns, priority)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query, the first ones after the warm-up.

        Raises
        ------
        ConfigError
            If that fails; as the other does.
        """
        if not self._is_warm:
            await self._warmed()
        return await self._executor.infer(inputs, outputs, deadline_ns, priority)

    def close(self) -> None:
        """Free the other."""
        self._executor.close()

    async def _warmed(self) -> None:
        if self._warming is None:
            self._warming = asyncio.create_task(asked_warm_ups(self._executor))
            self._warming.add_done_callback(self._end)
        await asyncio.shield(self._warming)  # whoever asked may go away, and others wait, too

    def _end(self, done: asyncio.Task[None]) -> None:
        self._warming = None
        self._is_warm = not done.cancelled() and done.exception() is None
        self._executor.take_step_work()  # of the warm-up: no query has run before
