"""The published networks: their contiguous optimum under their rules, and what is below it.

What is compared: the largest load under the publication's own rules (rules.py) with the optimum of
its authors' dynamic programme, contiguous, then without contiguity, which may only be less. Neither
rule is one of ``Problem``; what the optimiser proves of each network as a problem, with copies that
run beside tasks and without classes, stands beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.resumable import Row
from bench.placement_published.max_load import least_max_load
from bench.placement_published.rules import folded
from surplus.milp import SolveParams
from surplus.milp.throughput.search import solve_throughput
from surplus.placement.formats.dnn_partitioning import problem_of_network
from surplus.placement.formats.network import read_network
from surplus.placement.formats.problem_text import ProblemText

_NS_PER_MS = 1e6
_SAME = 1e-5
"""Published optima have six digits."""


def published_ms(folder: Path) -> dict[str, float | None]:
    """By network, in the folder's order: the published optimum, None where there is none."""
    with (folder / "optima.csv").open() as file:
        known = {row["graph"]: float(row["contiguous_max_load"]) for row in csv.DictReader(file)}
    return {path.stem: known.get(path.name) for path in sorted(folder.glob("throughput-*.json"))}


def network_row(folder: Path, name: str, published: float | None, time_s: float) -> Row:
    """Solve it three times, each for so many seconds."""
    text = (folder / f"{name}.json").read_text()
    network = read_network(ProblemText(text, name))
    if network.cpus != 1:
        raise ValueError(f"{name}: the rules are for one CPU, it has {network.cpus}")
    problem = folded(network)
    line = least_max_load(problem, time_s, contiguous=True)
    free = least_max_load(problem, time_s, contiguous=False, start=line.device_of)
    ours = solve_throughput(problem_of_network(network), SolveParams(time_limit_s=time_s))
    return {
        "network": name.removeprefix("throughput-"),
        "nodes": len(network.nodes),
        "published": "-" if published is None else published,
        "contiguous": _ms(line.load_ns),
        "its bound": line.bound_ns / _NS_PER_MS,
        "verdict": verdict(line.load_ns, line.is_proven, published),
        "any set": _ms(free.load_ns),
        "of any set, bound": free.bound_ns / _NS_PER_MS,
        "as a problem": _ms(ours.load_ns),
        "as a problem, gap %": 100 * (ours.gap or 0.0),
        "s": line.took_s + free.took_s + ours.runtime_s,
    }


def verdict(load_ns: int | None, is_proven: bool, published: float | None) -> str:
    """How what was found stands to what was published."""
    if load_ns is None:
        return "nothing found"
    if published is None:
        return "proven" if is_proven else "feasible"
    ratio = load_ns / _NS_PER_MS / published
    if abs(ratio - 1) <= _SAME:
        return "reproduced, proven" if is_proven else "reproduced"
    if ratio < 1:
        return "less"
    return "more, proven" if is_proven else "more"


def network_bars(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What must hold of them."""
    known = [row for row in rows if row["published"] != "-"]
    both = [row for row in rows if "-" not in (row["contiguous"], row["any set"])]
    reproduced = sum(str(row["verdict"]).startswith("reproduced") for row in known)
    no_worse = sum(row["any set"] <= row["contiguous"] * (1 + _SAME) for row in both)
    return [
        bar("contiguous optimum reproduced", 0.95, reproduced, len(known)),
        bar("without contiguity no worse", 1.0, no_worse, len(both)),
    ]


def bar(what: str, share: float, count: int, of: int) -> dict[str, Any]:
    """A line of the table of bars: that so many of so many did what a share of them should."""
    measured = count / of if of else 0.0
    holds = "yes" if measured >= share else "no"
    return {"what": what, "bar": share, "measured": measured, "of": of, "holds": holds}


def _ms(load_ns: int | None) -> float | str:
    return "-" if load_ns is None else load_ns / _NS_PER_MS
