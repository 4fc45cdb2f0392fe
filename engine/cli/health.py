"""``engine health``: whether a server answers, for probes that have no client of their own."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.parser import add_verb

_SUMMARY = "ask a server whether it is ready; status 0 if it is, 1 if not"
_EXAMPLE = """
engine health
engine health http://127.0.0.1:8000 --live
engine health localhost:8001 --tls-ca ca.pem
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "health", _SUMMARY, _EXAMPLE, run)
    options.add_url(parser)
    add = parser.add_argument
    add("--live", action="store_true", help="whether it answers at all, ready or not")
    add(
        "--timeout",
        type=float,
        default=5.0,
        metavar="S",
        help="seconds to wait for the answer (default %(default)g)",
    )
    add("--tls-ca", default="", metavar="FILE", help="over TLS, of a server of this authority, PEM")
    add("--tls-cert", default="", metavar="FILE", help="the certificate to show, PEM")
    add("--tls-key", default="", metavar="FILE", help="its key, PEM")


def run(args: argparse.Namespace) -> int:
    """Ask, print one word, and end with it."""
    from surplus.engine.cli.health_question import HealthQuestion, ask

    if not args.timeout > 0:
        raise ValueError(f"--timeout must be above 0, got {args.timeout}")
    if bool(args.tls_cert) != bool(args.tls_key):
        raise ValueError("--tls-cert and --tls-key go together")
    if args.tls_cert and not args.tls_ca:
        raise ValueError("--tls-cert: give --tls-ca, too, by which the server is known")
    question = HealthQuestion(
        args.url, args.live, args.timeout, args.tls_ca, args.tls_cert, args.tls_key
    )
    is_well = ask(question)
    print(("live" if args.live else "ready") if is_well else "not ready")
    return 0 if is_well else 1
