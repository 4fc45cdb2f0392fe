"""Options of ``engine serve``: when models load, and where the server listens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surplus.engine.serving.server_params import MAX_IN_FLIGHT

if TYPE_CHECKING:
    from surplus.engine.serving.server_params import ServerParams


def add_server(parser: argparse.ArgumentParser) -> None:
    """When models load, what a lost GPU means, and where to listen."""
    add = parser.add_argument
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
        "--front-end",
        choices=("auto", "native", "python"),
        default="auto",
        help="what speaks gRPC: our own over libnghttp2, gRPC's for Python, or ours where that"
        " library is (default %(default)s)",
    )
    add(
        "--max-in-flight",
        type=int,
        default=MAX_IN_FLIGHT,
        metavar="N",
        help="queries of a model that are held at once, a bound of memory (default %(default)s)",
    )
    add(
        "--shared-memory",
        action=argparse.BooleanOptionalAction,
        help="whether clients may put tensors into shared memory, and so reach all of this user's"
        " (by default where only this machine may ask)",
    )
    add(
        "--drain",
        type=float,
        default=30.0,
        metavar="S",
        help="seconds to finish queries in flight after SIGTERM (default %(default)g)",
    )


def server_params(args: argparse.Namespace) -> ServerParams:
    """Where and how to serve; raises this process's limit of open files."""
    from surplus.engine.cli.descriptors import connections_of, use_all_descriptors
    from surplus.engine.serving.server_params import FrontEnd, ServerParams

    return ServerParams(
        host=args.host,
        grpc_port=args.port,
        http_port=args.http_port,
        max_in_flight=args.max_in_flight,
        drain_timeout_s=args.drain,
        front_end=FrontEnd(args.front_end),
        max_connections=connections_of(use_all_descriptors()),
        shared_memory=args.shared_memory,
    )
