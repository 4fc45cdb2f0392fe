"""``python -m bench chaos``: a deployment is asked while servers, nodes and the network fail.

Three nodes on this machine, each with a server and, where that is allowed, a network of its own;
two tiny models, one on several nodes and one on one. Queries come in an open loop, half of them by
our client and half by ``engine route``. Servers are killed, frozen and left hanging, a node is
lost, versions and options are rolled, the network is cut: there, back, and both ways. Each query
has to end once: answered rightly, in time or late; refused; or failed with an error that has a
name.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench.chaos.chaos_load import ChaosLoad
from bench.chaos.deeds import DEEDS, NETWORKED
from bench.chaos.own_network import why_not
from bench.chaos.run import ChaosRun, run_here, run_on
from bench.infrastructure import result_file
from bench.infrastructure.progress import counting_bar


def _shown(folder: Path, load: ChaosLoad, deeds: list[str], where: str) -> ChaosRun:
    with counting_bar() as bar:
        task = bar.add_task("", total=load.queries)

        def say(deed: str, ended: int) -> None:
            bar.update(task, description=deed, completed=ended)

        if where != "ray":
            return run_here(folder, load, deeds, say, networks=where == "networks")
        from bench.chaos.ray_stage import staged_on_ray

        with staged_on_ray(folder, load.rate_per_s, load.seed) as stage:
            return run_on(stage, folder, load, deeds, say)


def main() -> int:
    """Run, show, store; 1 if a query is unaccounted for, answered wrongly or twice."""
    parser = argparse.ArgumentParser(prog="bench chaos", description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=300.0, help="of all queries, a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deed", action="append", choices=DEEDS, help="one of them; again: more")
    parser.add_argument("--ray", action="store_true", help="on a Ray cluster of this machine")
    parser.add_argument("--dry", action="store_true", help="store nothing")
    args = parser.parse_args()
    lacking = "nodes on Ray share a network" if args.ray else why_not()
    deeds = args.deed or [deed for deed in DEEDS if not (lacking and deed in NETWORKED)]
    if lacking:
        print(f"the network is not cut: {lacking}", file=sys.stderr)
    load = ChaosLoad(args.queries, args.rate, args.seed)
    with tempfile.TemporaryDirectory(prefix="surplus-chaos-") as name:
        os.environ["XDG_CACHE_HOME"] = name
        where = "ray" if args.ray else "here" if lacking else "networks"
        came = _shown(Path(name), load, deeds, where)
    result_file.show("Chaos", came.rows)
    for fault in came.faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    if not args.dry:
        config = {"queries": load.queries, "rate/s": load.rate_per_s, "seed": load.seed}
        table = "chaos_ray" if args.ray else "chaos"
        result_file.write(table, {**config, "faults": came.faults, "not cut": lacking}, came.rows)
    return 1 if came.faults else 0


if __name__ == "__main__":
    sys.exit(main())
