"""A model that takes no memory until a query asks for it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from surplus.engine.ensembles.in_repository import find_ensemble
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.repository.stamp import files_of
from surplus.engine.serving.servable import Array, Servable
from surplus.engine.serving.served_model import ServedModel

_log = logging.getLogger(__name__)


class Resting:
    """An ``surplus.engine.serving.servable.Servable`` whose queries wake the model.

    Parameters
    ----------
    known : Servable
        Whose inputs and outputs are the model's.
    wake : callable
        Gives what answers them.
    """

    def __init__(
        self,
        entry: RepositoryEntry,
        known: Servable,
        wake: Callable[[Resting], Awaitable[Servable]],
    ) -> None:
        self.entry = entry
        self.inputs = known.inputs
        self.outputs = known.outputs
        self.config = known.config
        self._wake = wake
        self._loads = self._rests = 0
        self.queued_ns = self.joined = 0
        self.batches: Mapping[int, tuple[int, int]] = {}
        self.warning = self.held = self.failure = ""
        self.facts: Mapping[str, str] = {}
        self.route = self.worker = None

    def foresee(self, deadline_ns: int | None, priority: int = 0) -> None:
        """Nothing: how long it takes to wake is not predicted."""

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        deadline_ns: int | None,
        priority: int = 0,
    ) -> dict[str, Array]:
        """Run one query on the model once it is awake; the deadline counts from now on."""
        executor = await self._wake(self)
        return await executor.infer(inputs, outputs, deadline_ns, priority)

    def close(self) -> None:
        """Nothing: it holds nothing."""

    def tell(self, model: ServedModel, cost_bytes: int, took_ms: float) -> None:
        """Say what waking has taken, in the log and to whoever asks for the configuration."""
        self._loads += 1
        model.note = ""
        model.cost_bytes = cost_bytes
        model.told = {
            "memory_bytes": str(cost_bytes),
            "last_load_ms": f"{took_ms:.1f}",
            "loads": str(self._loads),
            "rests": str(self._rests),
        }
        _log.info("%s was loaded for a query in %.1f ms, %d bytes", model, took_ms, cost_bytes)

    def rested(self, model: ServedModel) -> None:
        """It makes room for another one."""
        self._rests += 1
        model.cost_bytes = 0
        model.told = {**model.told, "memory_bytes": "0", "rests": str(self._rests)}


def entry_bytes(entry: RepositoryEntry) -> int:
    """Of a model's file, with all that lies in its folder, as external data does.

    Of an ensemble, of all that it is made of.

    Raises
    ------
    ConfigError
        If that is not there.
    """
    if entry.config is not None and entry.config.is_ensemble and not entry.error:
        return sum(entry_bytes(model) for _, model in find_ensemble(entry).steps)
    return sum(file.stat().st_size for file in files_of(entry.path.parent) if file.is_file())
