"""An ensemble whose steps its first query loads: its own warm-up comes before that query."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from surplus.engine.serving.chained_executor import ChainedExecutor
from surplus.engine.serving.servable import Array
from surplus.engine.serving.warm_up import asked_warm_ups


class LateChain(ChainedExecutor):
    """Steps in turn, which are not warm yet; how long a warm-up takes is not predicted.

    Queries that come while it is warmed wait for that; if it fails, so do they, and the next one
    has it tried again.
    """

    _warming: asyncio.Task[None] | None = None
    _is_warm = False

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
            If that fails; as steps in turn do.
        """
        if not self._is_warm:
            await self._warmed()
        return await super().infer(inputs, outputs, deadline_ns, priority)

    async def _warmed(self) -> None:
        if self._warming is None:
            self._warming = asyncio.create_task(asked_warm_ups(self, super().infer))
            self._warming.add_done_callback(self._end)
        await asyncio.shield(self._warming)  # whoever asked may go away, and others wait, too

    def _end(self, done: asyncio.Task[None]) -> None:
        self._warming = None
        self._is_warm = not done.cancelled() and done.exception() is None
        self.take_step_work()  # of the warm-up: no query has run before
