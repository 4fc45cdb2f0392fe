"""What ``engine serve`` does once it knows what it is asked for: load, serve, end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.cli import serve_policy
from surplus.engine.cli.end_by import end_by
from surplus.engine.devices.parsing import available_cores
from surplus.engine.errors import DeviceLostError
from surplus.engine.serving.say import say

if TYPE_CHECKING:
    from surplus.engine.cli.serve_control import Control
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.repository.layout import RepositoryEntry
    from surplus.engine.serving.life import MakeReady
    from surplus.engine.serving.server import AsyncServer
    from surplus.engine.serving.server_params import ServerParams


DEVICE_LOST = 75
"""Status of a server that lost its GPU: EX_TEMPFAIL of sysexits.h, try again."""


@dataclass(frozen=True)
class Live:
    """What may be loaded while a server runs.

    Parameters
    ----------
    roots : sequence of Path
        Where models come from.
    control : Control
        Who loads them.
    usual : LoadParams
        How one is loaded that was not there at the start.
    stamps : mapping of str to str
        Of the files, as they were before they were read.
    """

    roots: Sequence[Path]
    control: Control
    usual: LoadParams
    stamps: Mapping[str, str]


def served(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    loadings: Mapping[str, LoadParams],
    live: Live,
    *,
    lazy: bool,
    restarts: bool,
) -> int:
    """Load while the server is imported, each model as its name says, and serve."""
    from surplus.engine.cli.loaded_with_progress import loaded_with_progress
    from surplus.engine.serving.live_loads import LiveLoads
    from surplus.engine.serving.loads import Loads

    memory_bytes = live.control.memory_bytes
    loading = LiveLoads(loadings, live.usual, lazy=lazy, memory_bytes=memory_bytes)
    rest = None if loading.budget is None else loading.budget.resting
    loads = Loads(entries, loadings, lazy=lazy, load=loaded_with_progress, rest=rest)
    try:
        from surplus.engine.serving.former_models import pass_over_what_is_here
        from surplus.engine.serving.life import Served, all_loaded
        from surplus.engine.serving.live_start import LiveStart, begin_budget, begin_control

        start = LiveStart(live.roots, live.control.mode, live.control.poll_s, entries, live.stamps)

        async def make_ready(server: AsyncServer, served: Sequence[Served]) -> Sequence[Served]:
            if loading.budget is not None:
                begin_budget(server, loading.budget)
            with loads as futures:
                ready = await all_loaded(futures, served, may_fail=start.is_live)
            if loading.budget is not None:
                pass_over_what_is_here()  # models at rest: those that will be closed come later
            begin_control(server, start, loading)
            return ready

        return _lived(server, entries, make_ready, restarts=restarts)
    except DeviceLostError as error:
        if not restarts:
            raise
        say(f"engine serve: {error}", logging.ERROR)
        return DEVICE_LOST
    finally:
        loads.give_up()


def served_apart(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    loadings: Mapping[str, LoadParams],
    groups: Mapping[str, Sequence[str]],
    *,
    lazy: bool,
) -> int:
    """Each model, or group of them, in a process of its own; this one only answers clients."""
    from surplus.engine.isolation.nursery import Nursery

    with Nursery() as nursery:  # it imports beside this process
        from surplus.engine.isolation.workers import Loading, Workers

        workers = Workers(server, groups, Loading(loadings, lazy), nursery)
        return _lived(server, entries, workers.make_ready, restarts=False)


def served_by_policy(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    asked: serve_policy.ServedPolicy,
    *,
    restarts: bool,
) -> int:
    """The newest version of each model under a policy for several."""
    from surplus.engine.cli.policy_load import PolicyLoad
    from surplus.engine.repository.layout import warn_of_fields
    from surplus.engine.repository.under_policy import (
        require_servable,
        row_limits,
        warn_of_overruled,
    )

    require_servable(entries, asked.policy.policy)
    newest = {entry.name: entry for entry in entries}
    limits = row_limits({name: entry.config for name, entry in newest.items()})
    policy = replace(asked.policy, row_limits=limits)
    policy.check_names(list(newest))
    warn_of_fields(newest.values())
    warn_of_overruled(entries, policy.policy)
    with PolicyLoad(policy, clients_control=asked.clients_control) as make_ready:
        return _lived(server, list(newest.values()), make_ready, restarts=restarts)


def _lived(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    make_ready: MakeReady,
    *,
    restarts: bool,
) -> int:
    """The status that a server's life ends with."""
    import asyncio

    from surplus.engine.serving.life import ServerEnd, serve

    done = asyncio.run(serve(server, entries, make_ready, end_by, restarts=restarts))
    return {ServerEnd.DONE: 0, ServerEnd.UNFINISHED: 1, ServerEnd.DEVICE_LOST: DEVICE_LOST}[done]


def check_addresses(server: ServerParams) -> None:
    """Before anything is loaded that would have to be waited for."""
    from surplus.engine.serving.address import check_address

    ports: list[int | None] = [server.grpc_port]
    if server.needs_http_port:
        ports.append(server.http_port)
    if server.needs_metrics_port:
        ports.append(server.metrics_port)
    for port in ports:
        if port is not None:
            check_address(server.host, port)


def expect_trials(entries: Sequence[RepositoryEntry], cache: Path | None) -> None:
    """Where models look new, have what tries them start while the server is imported."""
    from surplus.engine.cache_folder import cache_folder
    from surplus.engine.dfg.file_hashes import hashes_in

    if entries and not hashes_in(cache or cache_folder()).is_known(entries[0].path):
        from surplus.engine.trial.servers import SERVERS

        SERVERS.start(min(len(entries), available_cores()))
