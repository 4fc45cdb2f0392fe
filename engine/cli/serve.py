"""``engine serve``: answer queries over the Open Inference Protocol (gRPC)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from engine.cli.options import add_cache, add_devices, add_policy, pairs
from engine.cli.progress import progress_bar


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
    from engine.pipeline.executor import ModelExecutor
    from engine.pipeline.load import LoadParams, load_with
    from engine.serving.data_plane import DataPlane
    from engine.serving.repository import find_models
    from engine.serving.server import Server, ServerParams

    params = LoadParams(
        devices=args.devices, policy=args.policy, options=pairs(args.option), cache=args.cache
    )
    plane = DataPlane(max_in_flight=args.max_in_flight)
    for entry in find_models(args.model):
        print(f"loading {entry.name} from {entry.path}", file=sys.stderr)
        with progress_bar() as progress:
            model = load_with(entry.path, params, progress=progress)
        plane.add(entry.name, entry.version, ModelExecutor(model))
        plan = model.plan
        print(
            f"{entry.name}: {len(plan.segments)} segments ({plan.name}), predicted "
            f"{plan.predicted.makespan_ns / 1e6:.2f} ms, lower bound "
            f"{plan.bound_ns / 1e6:.2f} ms",
            file=sys.stderr,
        )
    server = Server(
        plane, ServerParams(host=args.host, grpc_port=args.port, drain_timeout_s=args.drain)
    )
    asyncio.run(_serve(server, args))
    return 0


async def _serve(server: Any, args: argparse.Namespace) -> None:
    port = await server.start()
    names = ", ".join(server.data_plane.model_names())
    print(f"serving {names} on {args.host}:{port} (gRPC, Open Inference Protocol)")
    first = names.split(", ")[0]
    print(
        f"query it with: .venv/bin/loadgen --url {args.host}:{port} --model {first}"
        " --users 1 --duration 10s",
        flush=True,
    )
    await server.serve_until_stopped()
