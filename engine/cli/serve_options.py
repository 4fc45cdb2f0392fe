"""Options of ``engine serve``: when models load, and where the server listens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.serve_access import access_params, add_access
from surplus.engine.cli.serve_observation import add_observation, observation_params
from surplus.engine.serving.server_params import (
    GRPC_PORT,
    HTTP_PORT,
    MAX_IN_FLIGHT,
    MAX_STREAMS,
)

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
        " models' queries, try to open it again, or go on without it, on the other GPUs of its kind"
        " or the CPU (default restart; under a policy for several models, when no device is left)",
    )
    add_listening(parser)


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Where to listen, what clients may take, and how it ends."""
    add = parser.add_argument
    _add_ports(parser)
    add_observation(parser)
    _add_tls(parser)
    add_access(parser)
    add(
        "--max-in-flight",
        type=int,
        default=MAX_IN_FLIGHT,
        metavar="N",
        help="queries of a model that are held at once, a bound of memory (default %(default)s)",
    )
    _add_limits(parser)
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
    add(
        "--drain-delay",
        type=float,
        default=0.0,
        metavar="S",
        help="seconds before that in which it is not ready, and takes queries all the same, for"
        " load balancers to notice (default %(default)g)",
    )


def _add_ports(parser: argparse.ArgumentParser) -> None:
    """Where it listens, and who speaks there."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    add(
        "--port",
        type=int,
        default=GRPC_PORT,
        metavar="N",
        help="gRPC port (default %(default)s); 0 lets the system choose, and it is printed",
    )
    http = parser.add_mutually_exclusive_group()
    http.add_argument(
        "--http-port",
        type=int,
        metavar="N",
        help=f"HTTP port (default {HTTP_PORT}, or none where that is taken or gRPC's port is"
        " another one); 0 lets the system choose",
    )
    http.add_argument("--no-http", action="store_true", help="serve gRPC alone")
    http.add_argument(
        "--one-port",
        action="store_true",
        help="serve HTTP, too, on gRPC's port: the first bytes of a connection tell",
    )
    add(
        "--front-end",
        choices=("auto", "native", "python"),
        default="auto",
        help="what speaks gRPC and HTTP: our own over libnghttp2 and llhttp, gRPC's for Python and"
        " aiohttp, or ours where those libraries are (default %(default)s)",
    )


def _add_tls(parser: argparse.ArgumentParser) -> None:
    """How everything is encrypted (docs/how_to/tls.md)."""
    add = parser.add_argument
    add(
        "--tls-cert",
        default="",
        metavar="FILE",
        help="serve over TLS only: the server's certificate and those between it and its authority,"
        " PEM; read again when the file changes, as the others",
    )
    add("--tls-key", default="", metavar="FILE", help="the certificate's key, PEM, not encrypted")
    add(
        "--tls-client-ca",
        default="",
        metavar="FILE",
        help="let in only who has a certificate of these authorities, PEM",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """What clients may take (docs/how_to/limits.md)."""
    add = parser.add_argument
    add(
        "--memory-limit",
        default="",
        metavar="SIZE",
        help="what the server may hold, for example 4GiB: what would exceed it is refused; 0 is no"
        " limit (default: 80 %% of what the machine or its container has)",
    )
    add(
        "--response-cache",
        default="0",
        metavar="SIZE",
        help="what kept answers may take, for example 256MiB, of models with `response_cache` in"
        " their configuration (default: none is kept)",
    )
    add(
        "--max-message",
        default="64MiB",
        metavar="SIZE",
        help="largest request, also once decompressed (default %(default)s)",
    )
    add(
        "--max-connections",
        type=int,
        metavar="N",
        help="open at once, of gRPC and of HTTP each (default: by the limit of open files, 4096"
        " at most)",
    )
    add(
        "--max-connections-per-client",
        type=int,
        default=0,
        metavar="N",
        help="of those, of one address, by the native front end (default: any number)",
    )
    add(
        "--max-streams",
        type=int,
        metavar="N",
        help="calls at once on one gRPC connection (default: any number)",
    )
    add(
        "--max-body-s",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds for the body of a request over HTTP, for its head, and for a kept connection"
        " to ask again (default %(default)g)",
    )


def server_params(args: argparse.Namespace) -> ServerParams:
    """Where and how to serve; raises this process's limit of open files.

    Raises
    ------
    ConfigError
        If a file of TLS does not do.
    """
    from surplus.engine.cli.descriptors import connections_of, use_all_descriptors
    from surplus.engine.devices.memory_size import parse_bytes
    from surplus.engine.serving.server_params import FrontEnd, ServerParams
    from surplus.engine.serving.tls_context import server_context

    most = connections_of(use_all_descriptors())
    params = ServerParams(
        host=args.host,
        grpc_port=args.port,
        **_http_port(args),
        one_port=args.one_port,
        max_in_flight=args.max_in_flight,
        drain_timeout_s=args.drain,
        drain_delay_s=args.drain_delay,
        front_end=FrontEnd(args.front_end),
        shared_memory=args.shared_memory,
        max_message_bytes=parse_bytes(args.max_message),
        response_cache_bytes=_response_cache_bytes(args.response_cache),
        memory_limit_bytes=_memory_limit_bytes(args.memory_limit),
        max_connections=most if args.max_connections is None else args.max_connections,
        max_connections_per_client=args.max_connections_per_client,
        max_streams=MAX_STREAMS if args.max_streams is None else args.max_streams,
        max_body_s=args.max_body_s,
        tls_cert=args.tls_cert,
        tls_key=args.tls_key,
        tls_client_ca=args.tls_client_ca,
        **access_params(args),
        **observation_params(args),
    )
    if params.tls is not None:
        server_context(params.tls)  # says what is wrong before models load
    return params


def _response_cache_bytes(text: str) -> int:
    from surplus.engine.devices.memory_size import parse_bytes

    return 0 if text == "0" else parse_bytes(text)


def _http_port(args: argparse.Namespace) -> dict[str, Any]:
    """A second server, on ports of its own, is not to take or miss what is the first one's."""
    is_usual = args.port == GRPC_PORT and not (args.no_http or args.one_port)
    if args.http_port is None and is_usual:
        return {"http_port": HTTP_PORT, "needs_http_port": False}
    return {"http_port": args.http_port}


def _memory_limit_bytes(text: str) -> int:
    from surplus.engine.devices.memory_size import parse_bytes
    from surplus.engine.serving.memory_limit import default_limit_bytes

    if not text:
        return default_limit_bytes()
    return 0 if text == "0" else parse_bytes(text)
