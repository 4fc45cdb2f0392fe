"""``engine deploy``: serve models on the nodes of a Ray cluster."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.output import show_json
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    from surplus.engine.deployment.machines import Machines

_SUMMARY = "serve models on the nodes of a Ray cluster, with a plan that follows their rates"
_EXAMPLE = """
engine deploy CLUSTER.toml
engine deploy CLUSTER.toml --address ray-head:6379
engine deploy CLUSTER.toml --local 3
engine deploy CLUSTER.toml --down
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "deploy", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("file", type=Path, metavar="CLUSTER.toml", help="docs/how_to/deploy_cluster.md")
    add(
        "--address",
        default="auto",
        metavar="HOST:PORT",
        help="of the Ray cluster (default: the one that this machine is of)",
    )
    add(
        "--local",
        type=int,
        default=0,
        metavar="N",
        help="without Ray: N nodes of the first kind that are all this machine, to try a file out",
    )
    add("--down", action="store_true", help="end a deployment whose controller is gone")
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Deploy, say where to ask, serve until stopped."""
    from surplus.engine.deployment.cluster_deployment import ClusterDeployment
    from surplus.engine.deployment.cluster_file import read_cluster_file
    from surplus.engine.deployment.take_down import take_down

    file = read_cluster_file(args.file)
    machines = _machines(args, file.kinds)
    try:
        if args.down:
            print(f"ended agents on {take_down(file.name, machines)} nodes")
            return 0
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        with ClusterDeployment(args.file, machines) as deployed:
            if args.json:
                show_json({"resolver": deployed.resolver})
            else:
                print(f"deploying {', '.join(file.models)} from {file.repository}", flush=True)
                print(f"addresses: http://{deployed.resolver}/v1/models/NAME", flush=True)
            stop.wait()
            print("ending: queries in flight are answered", flush=True)
        return 0
    finally:
        machines.close()


def _machines(args: argparse.Namespace, kinds: Any) -> Machines:
    from surplus.engine.deployment.cluster_deployment import ray_machines
    from surplus.engine.deployment.local_machines import LocalMachines

    if args.local < 0:
        raise ValueError(f"--local must be >= 1, got {args.local}")
    if args.local:
        return LocalMachines.of(args.local, next(iter(kinds.values())).resources)
    return ray_machines(args.address)
