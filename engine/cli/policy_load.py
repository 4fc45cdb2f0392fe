"""Several models under one policy are made ready: loaded, measured, given to the policy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager

from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.policy_params import PolicyParams, PreparedPolicy, prepare
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.scheduling.served_by_policy import ServedByPolicy
from surplus.engine.serving.life import Served
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.policy_control import PolicyControl
from surplus.engine.serving.say import say
from surplus.engine.serving.server import AsyncServer


class PolicyLoad(AbstractContextManager["PolicyLoad"]):
    """Makes the models of a server ready; at the end of its block nothing is answered any more.

    Parameters
    ----------
    clients_control : bool
        Whether clients may take models out of service and put them back.
    """

    def __init__(self, policy: PolicyParams, *, clients_control: bool = False) -> None:
        self._policy = policy
        self._clients_control = clients_control
        self._service: PolicyService | None = None

    def __exit__(self, *_: object) -> None:
        if self._service is not None:
            self._service.close()

    async def __call__(self, server: AsyncServer, served: Sequence[Served]) -> Sequence[Served]:
        """As ``serving.life.MakeReady``.

        Raises
        ------
        EngineError
            If a model cannot be loaded, or a target cannot be met.
        """
        files = {entry.name: entry.path for entry, _ in served}
        prepared = await asyncio.to_thread(prepare, self._policy, files, say)
        self._service = service = _started(prepared, served)
        if self._clients_control:
            indices = {model.name: index for index, (_, model) in enumerate(served)}
            server.plane.control = PolicyControl(service, server.plane.models, indices)
        return served


def _started(prepared: PreparedPolicy, served: Sequence[Served]) -> PolicyService:
    try:
        service = PolicyService(prepared.demand, prepared.policy, prepared.models, prepared.places)
    except ValueError as error:
        raise ConfigError(f"policy {prepared.policy.name!r}: {error}") from error
    for short in service.deployment.shortfalls:
        name = prepared.demand.services[short.service].name
        say(f"{name}: {short.rate_per_s:.1f} queries/s have no place, {short.reason}")
    for index, (_, model) in enumerate(served):
        most = prepared.demand.services[index].max_batch
        model.set_ready(ModelExecutor(ServedByPolicy(service, index, most)))
        slo_ms = prepared.demand.services[index].slo_ns / 1e6
        alone_ms = prepared.demand.latency_ns(index, 1) / 1e6
        say(f"{model.name}: target {slo_ms:g} ms, {alone_ms:.3g} ms alone")
    return service
