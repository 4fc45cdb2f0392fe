"""What ``engine route`` is told of the servers that it asks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.engine.proxy.route_params import RouteParams
    from surplus.loadgen.transport import TlsParams


def add_routing(parser: argparse.ArgumentParser) -> None:
    """Who is asked, and when one is asked no more."""
    add = parser.add_argument
    add(
        "servers",
        nargs="*",
        metavar="HOST:PORT[+PORT]",
        help="servers by their ports of gRPC, and of REST, by which queries are passed on as bytes",
    )
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
    _add_ejection(parser)
    add(
        "--servers-tls-ca",
        default="",
        metavar="FILE",
        help="ask servers of this authority over TLS (PEM)",
    )
    add("--servers-tls-cert", default="", metavar="FILE", help="the certificate to show them, PEM")
    add("--servers-tls-key", default="", metavar="FILE", help="its key, PEM")


def _add_ejection(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
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
    add(
        "--unheard",
        type=float,
        default=5.0,
        metavar="S",
        help="seconds without a sign of life from a server where queries wait, and it is lost"
        " (default %(default)g)",
    )


def route_params(args: argparse.Namespace) -> RouteParams:
    """Of parsed options.

    Raises
    ------
    ValueError
        Naming what makes no sense.
    """
    from surplus.engine.bearer import token
    from surplus.engine.proxy.route_params import RouteParams
    from surplus.engine.proxy.server_words import parse_server
    from surplus.routing.client_params import EjectionParams

    return RouteParams(
        servers=tuple(dict.fromkeys(parse_server(words) for words in args.servers)),
        resolver=args.resolver,
        models=tuple(dict.fromkeys(args.model)),
        look_s=args.look,
        wait_s=args.wait,
        token=token(),
        tls=_tls(args),
        unheard_s=args.unheard,
        ejection=EjectionParams(args.most_failures, args.eject, max(30.0, args.eject)),
    )


def _tls(args: argparse.Namespace) -> TlsParams | None:
    from surplus.loadgen.transport import TlsParams

    if args.servers_tls_ca:
        return TlsParams(args.servers_tls_ca, args.servers_tls_cert, args.servers_tls_key)
    if args.servers_tls_cert or args.servers_tls_key:
        raise ValueError("--servers-tls-cert and --servers-tls-key need --servers-tls-ca")
    return None
