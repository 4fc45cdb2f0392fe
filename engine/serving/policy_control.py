"""Loads and unloads models under a policy: their services come and go."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.serving.served_model import ServedModel


class PolicyControl:
    """An ``surplus.engine.serving.model_control.ModelControl``.

    What is unloaded stays in memory, and comes back as it was: its file is not read again. A model
    that was not there at the start has no profile, and cannot come.

    Parameters
    ----------
    service : PolicyService
    services : mapping of str to int
        Index of each model's service, by name.
    """

    def __init__(self, service: PolicyService, services: Mapping[str, int]) -> None:
        self._service = service
        self._services = services

    def load(self, model: ServedModel) -> None:
        """Let the service come back, then admit its queries."""
        if model.is_unloaded:
            self._service.come(self._services[model.name])
            model.reload()

    def unload(self, model: ServedModel) -> None:
        """Admit no more queries, then answer those that wait; what runs finishes."""
        if not model.is_unloaded:
            model.unload()
            self._service.leave(self._services[model.name])
