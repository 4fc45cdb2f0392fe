"""``engine route``: answer queries by servers that have the models."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.serve_options import add_listening, server_params

_SUMMARY = "answer queries by other servers: each by the one that is expected to be the least late"
_EXAMPLE = """
engine route 10.0.0.1:8001 10.0.0.2:8001
engine route 10.0.0.1:8001 10.0.0.2:8001 --host 0.0.0.0 --port 9001 --http-port 9000
engine route --resolver http://10.0.0.9:8500 --model detector --model ranker
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "route", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("servers", nargs="*", metavar="HOST:PORT", help="servers by their ports of gRPC")
    add("--resolver", default="", metavar="URL", help="who knows the servers, instead of them")
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="with --resolver: a model to route; again for further ones",
    )
    add(
        "--look",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds between looks at who has what (default %(default)g)",
    )
    add(
        "--wait",
        type=float,
        default=10.0,
        metavar="S",
        help="seconds to wait at the start for a first server (default %(default)g)",
    )
    add(
        "--most-failures",
        type=int,
        default=3,
        metavar="N",
        help="in a row, and a server is asked no more for a while (default %(default)s); at once"
        " when its connection is lost",
    )
    add(
        "--eject",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds that this lasts the first time, twice as long each time in a row"
        " (default %(default)g)",
    )
    add_listening(parser)
    parser.set_defaults(model_control_mode="none", model_control=False)  # it loads nothing


def run(args: argparse.Namespace) -> int:
    """Find the models, say what is routed, route until stopped."""
    import asyncio
    from dataclasses import replace

    from surplus.engine.bearer import token
    from surplus.engine.proxy.life import route
    from surplus.engine.proxy.route_params import RouteParams
    from surplus.engine.serving.server_params import FrontEnd
    from surplus.loadgen.address import parse_address
    from surplus.routing.client_params import EjectionParams

    for address in args.servers:
        parse_address(address)
    if args.front_end == "python" or args.shared_memory:
        refused = "--shared-memory" if args.shared_memory else "--front-end python"
        raise ValueError(f"{refused}: queries are routed by the native front end, as bytes")
    params = RouteParams(
        servers=tuple(dict.fromkeys(args.servers)),
        resolver=args.resolver,
        models=tuple(dict.fromkeys(args.model)),
        look_s=args.look,
        wait_s=args.wait,
        token=token(),
        ejection=EjectionParams(args.most_failures, args.eject, max(30.0, args.eject)),
    )
    serving = replace(server_params(args), front_end=FrontEnd.NATIVE, shared_memory=False)
    return 0 if asyncio.run(route(params, serving)) else 1
