"""Loads and unloads models under a policy: their services come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.errors import UnsupportedError
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.serving.load_request import Override
from surplus.engine.serving.model_table import ModelTable


class PolicyControl:
    """An ``surplus.engine.serving.model_control.ModelControl``.

    What is unloaded stays in memory, and comes back as it was: its file is not read again. A model
    that was not there at the start has no profile, and cannot come.

    Parameters
    ----------
    service : PolicyService
    models : ModelTable
    services : mapping of str to int
        Index of each model's service, by name.
    """

    def __init__(
        self, service: PolicyService, models: ModelTable, services: Mapping[str, int]
    ) -> None:
        self._service = service
        self._models = models
        self._services = services

    async def load(self, name: str, override: Override | None = None) -> None:
        """Let the service come back, then admit its queries."""
        if override is not None:
            raise UnsupportedError(
                f"model {name!r}: parameter 'config' is not supported: models are loaded as they "
                "were at the server's start"
            )
        for model in self._models.versions(name).values():
            if model.is_unloaded:
                self._service.come(self._services[name])
                model.reload()

    async def unload(self, name: str, *, dependents: bool = False) -> None:
        """Admit no more queries, then answer those that wait; what runs finishes."""
        for model in self._models.versions(name).values():
            if not model.is_unloaded:
                model.unload()
                self._service.leave(self._services[name])

    async def unlisted(self) -> Sequence[str]:
        """None."""
        return ()
