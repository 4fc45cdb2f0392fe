"""Published instances under the published rules: standard task graphs, networks of NeurIPS 2020.

``--data FOLDER`` has ``stg/`` and ``dnn_partitioning/``, each with ``optima.csv`` (README.md of
the folder). Hours for all; row by row, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Table, fill
from bench.placement_published.networks import network_bars, network_row, published_ms
from bench.placement_published.task_graphs import (
    PROCESSORS,
    graph_bars,
    graph_row,
    published_units,
)

GRAPHS, NETWORKS, BARS = "published_graphs", "published_networks", "published_bars"
GRAPH_S, NETWORK_S = 10.0, 60.0


def main() -> int:
    """Measure what was asked for, and say which bars hold."""
    args = _parser().parse_args()
    folders = {part: args.data / part for part in ("stg", "dnn_partitioning")}
    for folder in folders.values():
        if not (folder / "optima.csv").is_file():
            print(f"--data: there is no {folder / 'optima.csv'}", file=sys.stderr)
            return 2
    bars = []
    if args.part in ("all", "stg"):
        bars += _graphs(args, folders["stg"])
    if args.part in ("all", "networks"):
        bars += _networks(args, folders["dnn_partitioning"])
    result_file.show("What must hold", bars)
    store_bars()
    return 0


def store_bars() -> None:
    """What the stored tables of both parts come to, once there are both."""
    paths = [result_file.path_of(name) for name in (GRAPHS, NETWORKS)]
    if all(path.exists() for path in paths):
        graphs, networks = map(result_file.read_document, paths)
        bars = [
            *graph_bars(result_file.rows_of(graphs)),
            *network_bars(result_file.rows_of(networks)),
        ]
        config = {"graphs": graphs["config"], "networks": networks["config"]}
        result_file.write(BARS, config, bars)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench placement_published")
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FOLDER", help="stg/ and dnn_partitioning/")
    add("--part", choices=("all", "stg", "networks"), default="all", help="(%(default)s)")
    add("--graph-s", type=float, default=GRAPH_S, metavar="S", help="each (%(default)g)")
    add("--network-s", type=float, default=NETWORK_S, metavar="S", help="each (%(default)g)")
    add("--only", default="", metavar="TEXT", help="instances whose names have this in them")
    add("--most", type=int, default=0, metavar="N", help="the first N of each (default: all)")
    add("--no-plain", action="store_true", help="do not solve graphs by CP-SAT alone, too")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    return parser


def _graphs(args: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    known = published_units(folder)
    names = _chosen(args, list(dict.fromkeys(name for name, _ in known)))
    keys: list[Key] = [(name, str(count)) for name in names for count in PROCESSORS]
    config = {"time_s": args.graph_s, "only": args.only, "most": args.most}
    config["plain"] = not args.no_plain
    table = Table(GRAPHS, config, ("graph", "processors"), anew=args.anew)
    rows = fill(
        table,
        keys,
        lambda key: graph_row(
            folder,
            key[0],
            int(key[1]),
            known[key[0], int(key[1])],
            args.graph_s,
            not args.no_plain,
        ),
    )
    return graph_bars(rows)


def _networks(args: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    known = published_ms(folder)
    keys: list[Key] = [(name.removeprefix("throughput-"),) for name in _chosen(args, list(known))]
    config = {"time_s": args.network_s, "only": args.only, "most": args.most}
    table = Table(NETWORKS, config, ("network",), anew=args.anew)

    def measure(key: Key) -> dict[str, object]:
        name = f"throughput-{key[0]}"
        return network_row(folder, name, known[name], args.network_s)

    return network_bars(fill(table, keys, measure))


def _chosen(args: argparse.Namespace, names: list[str]) -> list[str]:
    found = [name for name in names if args.only in name]
    return found[: args.most] if args.most else found


if __name__ == "__main__":
    sys.exit(main())
