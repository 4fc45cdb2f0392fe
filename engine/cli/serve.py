"""``engine serve``: answer queries over the Open Inference Protocol (gRPC, HTTP)."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options, serve_policy
from surplus.engine.cli.asked import asked_params
from surplus.engine.cli.end_by import end_by
from surplus.engine.cli.parser import add_verb
from surplus.engine.devices.parsing import available_cores
from surplus.engine.errors import DeviceLostError

if TYPE_CHECKING:
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.serving.life import MakeReady
    from surplus.engine.serving.repository import RepositoryEntry
    from surplus.engine.serving.server import AsyncServer
    from surplus.engine.serving.server_params import ServerParams

_SUMMARY = "answer queries over the Open Inference Protocol (gRPC, HTTP)"
_EXAMPLE = """
engine serve model.onnx --devices cpu:2 --port 8001 --http-port 8000
engine serve repository/ --policy comm_sd --lazy
engine serve repository/ --policy edf_drop --slo resnet50=100ms --slo bert=200ms
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "serve", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add(
        "model",
        type=Path,
        metavar="MODEL_OR_REPOSITORY",
        help="an ONNX file, or a folder of NAME/VERSION/model.onnx",
    )
    options.add_cache(parser)
    options.add_devices(parser)
    options.add_policy(parser, open_names=True)
    serve_policy.add_options(parser)
    options.add_slices(parser)
    options.add_gpu_memory(parser)
    options.add_limits(parser)
    options.add_any_bits(parser)
    add(
        "--lazy",
        action="store_true",
        help="check models now, and load each with its first query",
    )
    add(
        "--on-device-loss",
        choices=("restart", "fail", "recreate", "cpu"),
        help="after a GPU was lost: end with status 75 for a supervisor to start anew, fail its"
        " models' queries, try to open it again, or go on without it (default restart; under a"
        " policy for several models, when no device is left)",
    )
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add(
        "--port",
        type=int,
        default=8001,
        metavar="N",
        help="gRPC port (default %(default)s); 0 lets the system choose, and it is printed",
    )
    add(
        "--http-port",
        type=int,
        metavar="N",
        help="serve HTTP, too, on this port; 0 lets the system choose (needs aiohttp)",
    )
    add(
        "--max-in-flight",
        type=int,
        default=256,
        metavar="N",
        help="queries admitted per model before new ones are turned away (default %(default)s)",
    )
    add(
        "--drain",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds to finish queries in flight after SIGTERM (default %(default)g)",
    )


DEVICE_LOST = 75
"""Status of a server that lost its GPU: EX_TEMPFAIL of sysexits.h, try again."""


def run(args: argparse.Namespace) -> int:
    """Load everything, say what is served and how to query it, serve until stopped."""
    from surplus.engine.planning.tune_by_default import tune_by_default
    from surplus.engine.serving.repository import find_models

    by_policy = serve_policy.asked(args)
    entries = find_models(args.model)
    restarts = args.on_device_loss in (None, "restart")
    if by_policy is not None:
        return _served_by_policy(_server_params(args), entries, by_policy, restarts=restarts)
    if tune_by_default() == "background" and not args.lazy:
        _expect_trials(entries, args.cache)
    loading = asked_params(
        args,
        slice_ms=args.slice_ms,
        max_load_s=args.max_load_s,
        max_query_ms=args.max_query_ms,
        gpu_memory=args.gpu_memory,
        on_device_loss="fail" if restarts else args.on_device_loss,
        same_bits=not args.any_bits,
        tune=tune_by_default(),
    )
    specs = loading.specs()
    if args.lazy:  # else loading says what is missing
        for spec in specs:  # what else the first query of each model would be refused for
            spec.check_present()
    server = _server_params(args)
    _check_addresses(server)
    before = signal.signal(signal.SIGINT, lambda number, _: end_by(number))  # until it is served
    try:
        return _served(server, entries, loading, lazy=args.lazy, restarts=restarts)
    finally:
        signal.signal(signal.SIGINT, before)


def _served(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    loading: LoadParams,
    *,
    lazy: bool,
    restarts: bool,
) -> int:
    """Load while the server is imported, and serve."""
    from surplus.engine.cli.loads import Loads

    loads = Loads(entries, loading, lazy=lazy)
    try:
        from surplus.engine.serving.life import Served, all_loaded

        async def make_ready(_: AsyncServer, served: Sequence[Served]) -> Sequence[Served]:
            with loads as futures:
                return await all_loaded(futures, served)

        return _lived(server, entries, make_ready, restarts=restarts)
    except DeviceLostError as error:
        if not restarts:
            raise
        print(f"engine serve: {error}", file=sys.stderr)
        return DEVICE_LOST
    finally:
        loads.give_up()


def _served_by_policy(
    server: ServerParams,
    entries: Sequence[RepositoryEntry],
    asked: serve_policy.ServedPolicy,
    *,
    restarts: bool,
) -> int:
    """The newest version of each model under a policy for several."""
    from surplus.engine.cli.policy_load import PolicyLoad

    newest = {entry.name: entry for entry in entries}
    asked.policy.check_names(list(newest))
    with PolicyLoad(asked.policy, clients_control=asked.clients_control) as make_ready:
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


def _check_addresses(server: ServerParams) -> None:
    """Before anything is loaded that would have to be waited for."""
    from surplus.engine.serving.address import check_address

    for port in (server.grpc_port, server.http_port):
        if port is not None:
            check_address(server.host, port)


def _expect_trials(entries: Sequence[RepositoryEntry], cache: Path | None) -> None:
    """Where models look new, have what tries them start while the server is imported."""
    from surplus.engine.cache_folder import cache_folder
    from surplus.engine.dfg.file_hashes import hashes_in

    if not hashes_in(cache or cache_folder()).is_known(entries[0].path):
        from surplus.engine.trial.servers import SERVERS

        SERVERS.start(min(len(entries), available_cores()))


def _server_params(args: argparse.Namespace) -> Any:
    from surplus.engine.cli.descriptors import connections_of, use_all_descriptors
    from surplus.engine.serving.server_params import ServerParams

    return ServerParams(
        host=args.host,
        grpc_port=args.port,
        http_port=args.http_port,
        max_in_flight=args.max_in_flight,
        drain_timeout_s=args.drain,
        max_connections=connections_of(use_all_descriptors()),
    )
