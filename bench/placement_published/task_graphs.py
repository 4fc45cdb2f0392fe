"""Standard task graphs on 2, 4, 8 and 16 processors beside their published best makespans."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.resumable import Row
from bench.placement_published.networks import bar
from bench.placement_published.plain_cpsat import plain_cpsat
from surplus.milp import SolveParams, Status, solve
from surplus.placement import check
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.stg import UNIT_NS, Stg

PROCESSORS = (2, 4, 8, 16)


def published_units(folder: Path) -> dict[tuple[str, int], int | None]:
    """By graph and processors: the published best makespan; None where there is none."""
    with (folder / "optima.csv").open() as file:
        return {
            (row["graph"], count): int(text) if (text := row[f"makespan_{count}"]) else None
            for row in csv.DictReader(file)
            for count in PROCESSORS
        }


def graph_row(
    folder: Path, name: str, processors: int, published: int | None, time_s: float, plain: bool
) -> Row:
    """Solve it for so many seconds; ``plain``: and once more by CP-SAT alone."""
    file = ProblemText((folder / name).read_text(), name)
    problem = Stg().read(file, ReadParams(processors=processors))
    params = SolveParams(time_limit_s=time_s)
    found = solve(problem, params)
    assert found.placement is not None
    assert found.timeline is not None
    check(problem, found.placement, found.timeline)
    row = {
        "graph": name,
        "processors": processors,
        "published": "-" if published is None else published,
        "makespan": _units(found.makespan_ns),
        "bound": _units(found.bound_ns),
        "status": str(found.status),
        "s": found.runtime_s,
    }
    if plain:
        alone = plain_cpsat(problem, time_s, params.threads)
        row["CP-SAT alone"] = _units(alone.makespan_ns)
        row["CP-SAT alone, status"] = "optimal" if alone.is_proven else "feasible"
    return row


def graph_bars(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What must hold of them."""
    known = [row for row in rows if row["published"] != "-"]
    lines = [
        bar("the published best or better", 0.98, _as_good(known, "makespan"), len(known)),
        bar("proven", 0.95, _proven(rows, "status"), len(rows)),
    ]
    if rows and "CP-SAT alone" in rows[0]:
        good, proven = _as_good(known, "CP-SAT alone"), _proven(rows, "CP-SAT alone, status")
        lines += [
            bar("CP-SAT alone: the published best or better", 0.98, good, len(known)),
            bar("CP-SAT alone: proven", 0.95, proven, len(rows)),
        ]
    return lines


def _as_good(rows: Sequence[Row], column: str) -> int:
    return sum(row[column] != "-" and row[column] <= row["published"] for row in rows)


def _proven(rows: Sequence[Row], column: str) -> int:
    return sum(row[column] == Status.OPTIMAL for row in rows)


def _units(time_ns: int | None) -> int | str:
    """Whole units, upwards: a bound within a unit is one of the next."""
    return "-" if time_ns is None else -(-time_ns // UNIT_NS)
