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
from surplus.engine.serving.loads import executor_of
from surplus.engine.serving.metrics.policy_sample import PolicySample
from surplus.engine.serving.operator_libraries import operator_libraries
from surplus.engine.serving.policy_control import PolicyControl
from surplus.engine.serving.say import say
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.warm_up import asked_warm_ups


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
            If a model cannot be loaded, its configuration contradicts it, its warm-up fails, or a
            target cannot be met.
        """
        prepared = await asyncio.to_thread(self._prepared, served)
        self._service = service = _started(prepared)
        name = prepared.policy.name
        server.plane.policies = lambda: (PolicySample(name, *service.recent(), service.devices),)
        executors = [_executor(service, i, served[i], prepared) for i in range(len(served))]
        for executor in executors:
            await asked_warm_ups(executor)
        for (_, model), executor in zip(served, executors, strict=True):
            model.set_ready(executor)
        if self._clients_control:
            indices = {model.name: index for index, (_, model) in enumerate(served)}
            server.plane.control = PolicyControl(service, server.plane.models, indices)
        return served

    def _prepared(self, served: Sequence[Served]) -> PreparedPolicy:
        for entry, _ in served:  # before any is read: they are the process's from then on
            operator_libraries(entry)
        files = {entry.name: entry.path for entry, _ in served}
        return prepare(self._policy, files, say)


def _started(prepared: PreparedPolicy) -> PolicyService:
    try:
        service = PolicyService(prepared.demand, prepared.policy, prepared.models, prepared.places)
    except ValueError as error:
        raise ConfigError(f"policy {prepared.policy.name!r}: {error}") from error
    for short in service.deployment.shortfalls:
        name = prepared.demand.services[short.service].name
        say(f"{name}: {short.rate_per_s:.1f} queries/s have no place, {short.reason}")
    return service


def _executor(
    service: PolicyService, index: int, served: Served, prepared: PreparedPolicy
) -> Servable:
    """What answers for one of the models, as its configuration says; says its target."""
    entry, model = served
    own = prepared.demand.services[index]
    alone_ms = prepared.demand.latency_ns(index, 1) / 1e6
    say(f"{model.name}: target {own.slo_ns / 1e6:g} ms, {alone_ms:.3g} ms alone")
    return executor_of(ServedByPolicy(service, index, own.max_batch), entry)
