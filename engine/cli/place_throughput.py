"""``engine place --objective throughput``: the least load of the busiest resource, with its bound.

Chosen is the placement of the least load: the solver's, or a policy's where that is as good. Its
order is the one of the periodic schedule that attains the load, or nearly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine.cli.output import duration, show_rows, three_digits
from surplus.engine.errors import ConfigError, PlacementError
from surplus.placement import InfeasibleError, Placement, Problem, make_policy
from surplus.placement.load_bounds import load_bound_ns
from surplus.placement.load_table import LoadRow, load_table
from surplus.placement.occupancy import busiest_of
from surplus.placement.periodic import PeriodicSchedule, periodic_schedule
from surplus.placement.periodic_order import in_periodic_order
from surplus.placement.throughput_front import FrontPoint, throughput_front

THROUGHPUT = "throughput"
_BALANCE = "balance"
_SEARCH_S = 10.0
"""For the solver, unless --time says how long."""

_NS_PER_S = 1e9


@dataclass(frozen=True)
class PlacedForThroughput:
    """What was found.

    Parameters
    ----------
    chosen : Placement
        In the order of ``schedule``.
    schedule : PeriodicSchedule
        Of it.
    row : LoadRow
        Of it.
    rows : sequence of LoadRow
        Of every placement that was compared.
    proof : str
        Whose bound it is, and whether that is the end of it.
    front : sequence of FrontPoint
        Latency against throughput of it, ``balance``'s and the asked policy's, if asked for.
    """

    chosen: Placement
    schedule: PeriodicSchedule
    row: LoadRow
    rows: Sequence[LoadRow]
    proof: str
    front: Sequence[FrontPoint]

    def to_dict(self) -> dict[str, Any]:
        """For JSON (docs/FORMATS.md)."""
        return {
            "policies": [row.to_dict() for row in self.rows],
            "busiest": self.row.busiest,
            "load_ns": self.row.load_ns,
            "bound_ns": self.row.bound_ns,
            "gap": self.row.gap,
            "proof": self.proof,
            "interval_ns": self.schedule.interval_ns,
            "latency_ns": self.schedule.latency_ns,
            "in_flight": self.schedule.in_flight,
            **({"front": [point.to_dict() for point in self.front]} if self.front else {}),
        }


def add_front(parser: argparse.ArgumentParser) -> None:
    """--front."""
    parser.add_argument(
        "--front",
        action="store_true",
        help="with --objective throughput: latency against throughput, too, of the placements of"
        " --policy, of balance and of the one chosen",
    )


def check_front(args: argparse.Namespace) -> None:
    """Refuse --front without its objective.

    Raises
    ------
    ConfigError
        Saying so.
    """
    if args.front and args.objective != THROUGHPUT:
        raise ConfigError("--front belongs to --objective throughput")


def placed_for_throughput(
    args: argparse.Namespace, problem: Problem, placements: dict[str, Placement]
) -> PlacedForThroughput:
    """Search for the least load; ``placements`` gets those that are compared beside its own.

    Raises
    ------
    PlacementError
        If the memories do not even hold one query of any placement at a time.
    """
    try:
        placements.setdefault(_BALANCE, make_policy(_BALANCE).place(problem))
        found, bound_ns, proof = _least(problem, placements, args.time or _SEARCH_S)
        schedule = periodic_schedule(problem, found)
    except InfeasibleError as error:
        raise PlacementError(f"--objective throughput: {error}") from error
    name = next((name for name, known in placements.items() if known == found), found.policy)
    placements[name] = chosen = in_periodic_order(found, schedule)
    rows = dict(zip(placements, load_table(problem, placements.values(), bound_ns), strict=True))
    compared = dict.fromkeys((args.policy, _BALANCE, name))
    front = throughput_front(problem, (placements[n] for n in compared)) if args.front else ()
    return PlacedForThroughput(chosen, schedule, rows[name], [*rows.values()], proof, front)


def _least(
    problem: Problem, placements: Mapping[str, Placement], time_s: float
) -> tuple[Placement, int, str]:
    """The placement of the least load, a bound, and who proved that."""
    from surplus.milp import SolveParams, SolverUnavailableError, Status
    from surplus.milp.throughput.search import solve_throughput

    best = min(placements.values(), key=lambda placement: busiest_of(problem, placement)[1])
    params = SolveParams(time_limit_s=time_s, warm_start=best)
    try:
        result = solve_throughput(problem, params)
    except SolverUnavailableError as error:
        print(f"engine: note: no solver searched for less: {error}", file=sys.stderr)
        return best, load_bound_ns(problem), "by all lanes together"
    assert result.placement is not None
    is_proven = result.status is Status.OPTIMAL
    proof = result.message if is_proven else f"{time_s:g} s of search left the rest open"
    return result.placement, result.bound_ns, proof


def show_for_throughput(name: str, found: PlacedForThroughput) -> None:
    """Print the table, and what the chosen one comes to."""
    show_rows(f"{name}: the busiest resource of each query", [_shown(row) for row in found.rows])
    row, schedule = found.row, found.schedule
    print(
        f"no placement's busiest resource is held for less than {duration(row.bound_ns)} a query"
        f" ({found.proof})"
    )
    print(f"{row.policy}: proven to be within {100 * row.gap:.1f} % of the highest throughput")
    print(
        f"a query each {duration(schedule.interval_ns)}, {schedule.in_flight} in flight,"
        f" latency {duration(schedule.latency_ns)} (periodic schedule)"
    )
    if found.front:
        show_rows("latency against throughput", [_point(point) for point in found.front])


def _shown(row: LoadRow) -> dict[str, Any]:
    shown = {
        "policy": row.policy,
        "busiest": row.busiest or "-",
        "load ms": row.load_ns / 1e6,
        "queries/s": three_digits(_NS_PER_S / row.load_ns) if row.load_ns else "-",
        "bound ms": row.bound_ns / 1e6,
        "gap": f"{100 * row.gap:.1f} %",
    }
    if row.memory:
        shown["fullest memory"] = f"{row.memory} {100 * row.memory_share:.0f} %"
    return shown


def _point(point: FrontPoint) -> dict[str, Any]:
    return {
        "interval": duration(point.interval_ns),
        "latency": duration(point.latency_ns),
        "in flight": point.in_flight,
        "placement of": point.policy,
    }
