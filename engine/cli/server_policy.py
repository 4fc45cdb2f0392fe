"""A server of several models under one policy: load and measure, serve, drain."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from surplus.engine.cli.server_run import announce
from surplus.engine.cli.unless_stopped import unless_stopped
from surplus.engine.errors import ConfigError
from surplus.engine.live.policy_control import PolicyControl
from surplus.engine.live.policy_executor import PolicyExecutor
from surplus.engine.live.policy_params import PolicyParams, Prepared, prepare
from surplus.engine.live.policy_service import PolicyService
from surplus.engine.serving.repository import RepositoryEntry
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.server import Server
from surplus.engine.serving.server_params import ServerParams


async def serve_by_policy(
    params: ServerParams,
    entries: Sequence[RepositoryEntry],
    policy: PolicyParams,
    *,
    clients_control: bool = False,
) -> bool:
    """Serve the newest version of each model until SIGTERM or SIGINT.

    Parameters
    ----------
    clients_control : bool
        Whether clients may take models out of service and put them back.

    Returns
    -------
    bool
        Whether every query in flight finished when the server stopped.

    Raises
    ------
    EngineError
        If the address cannot be bound, a model cannot be loaded, or a target cannot be met.
    """
    newest = {entry.name: entry for entry in entries}
    policy.check_names(list(newest))
    server = Server(params)
    served = [server.plane.models.add(e.name, e.version) for e in newest.values()]
    address = f"{params.host}:{await server.start()}"
    try:
        files = {name: entry.path for name, entry in newest.items()}
        loading = asyncio.to_thread(prepare, policy, files, _say)
        prepared = await unless_stopped(server, loading)
        service = _started(prepared, served)
        indices = {model.name: index for index, model in enumerate(served)}
        server.plane.control = PolicyControl(service, indices) if clients_control else None
    except BaseException:
        await server.stop()
        raise
    ready = list(zip(newest.values(), served, strict=True))
    done = await server.serve_until_stopped(
        lambda: announce(ready, address, params.host, server.http_port)
    )
    service.close()
    return done


def _started(prepared: Prepared, served: Sequence[ServedModel]) -> PolicyService:
    try:
        service = PolicyService(prepared.demand, prepared.policy, prepared.models, prepared.places)
    except ValueError as error:
        raise ConfigError(f"policy {prepared.policy.name!r}: {error}") from error
    for short in service.deployment.shortfalls:
        name = prepared.demand.services[short.service].name
        _say(f"{name}: {short.rate_per_s:.1f} queries/s have no place, {short.reason}")
    for index, model in enumerate(served):
        most = prepared.demand.services[index].max_batch
        model.set_ready(PolicyExecutor(service, index, most))
        slo_ms = prepared.demand.services[index].slo_ns / 1e6
        alone_ms = prepared.demand.latency_ns(index, 1) / 1e6
        _say(f"{model.name}: target {slo_ms:g} ms, {alone_ms:.3g} ms alone")
    return service


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
