"""``engine serve``: answer queries over the Open Inference Protocol (gRPC)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.options import add_cache, add_devices, add_policy, pairs
from engine.cli.progress import progress_bar
from engine.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from engine.pipeline.load import LoadParams
    from engine.runtime.model import Model
    from engine.serving.repository import RepositoryEntry
    from engine.serving.server import ServerParams


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("serve", help=__doc__.split("\n")[0], description=__doc__)
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL_OR_REPOSITORY",
        help="an ONNX file, or a folder of NAME/VERSION/model.onnx",
    )
    add_cache(parser)
    add_devices(parser)
    add_policy(parser)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001, help="gRPC port (default 8001)")
    parser.add_argument(
        "--max-in-flight",
        type=int,
        default=256,
        help="queries admitted per model before new ones are turned away",
    )
    parser.add_argument(
        "--drain",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds to finish queries after SIGTERM (default 30)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load everything, say what is served and how to query it, serve until stopped."""
    from engine.pipeline.load import LoadParams
    from engine.serving.repository import find_models
    from engine.serving.server import ServerParams

    params = LoadParams(
        devices=args.devices, policy=args.policy, options=pairs(args.option), cache=args.cache
    )
    server = ServerParams(
        host=args.host,
        grpc_port=args.port,
        max_in_flight=args.max_in_flight,
        drain_timeout_s=args.drain,
    )
    asyncio.run(_serve(server, find_models(args.model), params))
    return 0


async def _serve(params: ServerParams, entries: list[RepositoryEntry], loading: LoadParams) -> None:
    """Answer health checks at once, each model as soon as it is loaded."""
    from engine.pipeline.executor import ModelExecutor
    from engine.serving.server import Server

    server = Server(params)
    served = [(entry, server.plane.models.add(entry.name, entry.version)) for entry in entries]
    address = f"{params.host}:{await server.start()}"
    ready: list[str] = []
    try:
        for entry, model in served:
            try:
                loaded = await asyncio.to_thread(_load, entry, loading)
                model.set_ready(ModelExecutor(loaded))
                ready.append(entry.name)
            except EngineError as error:
                print(f"{entry.name}: {error}", file=sys.stderr)
                model.set_unavailable(str(error))
        if not ready:
            raise ConfigError("no model could be loaded")
        print(f"serving {', '.join(ready)} on {address} (gRPC, Open Inference Protocol)")
        print(
            f"query: .venv/bin/loadgen --url {address} --model {ready[0]} --users 1 --duration 10s",
            flush=True,
        )
        await server.serve_until_stopped()
    finally:
        await server.stop()


def _inputs_option(model: Path) -> str:
    beside = model.with_suffix(".npz")
    return f" --inputs {beside}" if beside.exists() else ""


def _load(entry: RepositoryEntry, params: LoadParams) -> Model:
    from engine.pipeline.load import load_with

    print(f"loading {entry.name} from {entry.path}", file=sys.stderr)
    with progress_bar() as progress:
        model = load_with(entry.path, params, progress=progress)
    plan = model.plan
    print(
        f"{entry.name}: {len(plan.segments)} segments ({plan.name}), predicted makespan"
        f" {plan.predicted.makespan_ns / 1e6:.2f} ms, lower bound {plan.bound_ns / 1e6:.2f} ms",
        file=sys.stderr,
    )
    return model
