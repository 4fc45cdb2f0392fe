"""``engine route``: answer queries by servers that have the models."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.route_options import add_routing, route_params
from surplus.engine.cli.serve_options import add_listening, server_params

_SUMMARY = "answer queries by other servers: each by the one that is expected to be the least late"
_EXAMPLE = """
engine route 10.0.0.1:8001+8000 10.0.0.2:8001+8000
engine route 10.0.0.1:8001 10.0.0.2:8001 --host 0.0.0.0 --port 9001 --http-port 9000
engine route --resolver http://10.0.0.9:8500 --model detector --model ranker
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "route", _SUMMARY, _EXAMPLE, run)
    add_routing(parser)
    add_listening(parser)
    parser.set_defaults(model_control_mode="none", model_control=False)  # it loads nothing


def run(args: argparse.Namespace) -> int:
    """Find the models, say what is routed, route until stopped."""
    import asyncio
    from dataclasses import replace

    from surplus.engine.proxy.life import route
    from surplus.engine.serving.server_params import FrontEnd

    if args.front_end == "python" or args.shared_memory:
        refused = "--shared-memory" if args.shared_memory else "--front-end python"
        raise ValueError(f"{refused}: queries are routed by the native front end, as bytes")
    params = route_params(args)
    serving = replace(server_params(args), front_end=FrontEnd.NATIVE, shared_memory=False)
    return 0 if asyncio.run(route(params, serving)) else 1
