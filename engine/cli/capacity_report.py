"""What ``engine capacity`` prints and draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.load_limits import show_need
from surplus.engine.cli.output import show_rows, three_digits

if TYPE_CHECKING:
    from surplus.colocation import Scenario
    from surplus.colocation.results.capacity import Capacity, CapacityParams


def capacity_document(
    scenario: Scenario, params: CapacityParams, found: Sequence[Capacity], refused: dict[str, str]
) -> dict[str, Any]:
    """All that was found, for JSON."""
    return {
        "scenario": scenario.name,
        "seeds": [scenario.seed + k for k in range(params.seeds)],
        "target": params.target,
        "each_service": params.each,
        "policies": [one.to_dict() for one in found],
        "refused": refused,
    }


def show_capacity(
    scenario: Scenario, params: CapacityParams, found: Sequence[Capacity], refused: dict[str, str]
) -> None:
    """Print a table with a row a policy, and what is to be known of it."""
    from surplus.colocation.clairvoyant import scenario_bound

    whose = "each service" if params.each else "all queries"
    title = f"{scenario.name}: load at which {params.target:.4g} of {whose} is in time"
    show_rows(f"{title}, {params.seeds} seeds", [_row(one) for one in found])
    for one in found:
        if one.found.held_above is not None:
            text = f"also holds {one.found.held_above:.3f}, above a load that it does not"
            print(f"{one.policy}: not monotone, {text}")
    for name, reason in refused.items():
        print(f"{name}: cannot serve this scenario, {reason}")
    show_need(scenario, scenario_bound(scenario))


def _row(one: Capacity) -> dict[str, str]:
    found = one.found
    row = {"policy": one.policy, "queries/s": three_digits(one.rate_per_s)}
    row |= {"scale": f"{found.scale:.3f}"}
    held = [probe for probe in found.probes if probe.scale == found.scale]
    worst = f"{held[0].least:.2%} to {held[0].most:.2%}" if held else "-"
    missed = "-" if found.missed_scale is None else f"{found.missed_scale:.3f}"
    return row | {"seeds there": worst, "missed at": missed, "loads": str(len(found.probes))}


def draw_capacity(
    path: Path, scenario: Scenario, found: Sequence[Capacity], params: CapacityParams
) -> None:
    """Draw goodput against load."""
    from surplus.engine.report.charts import Chart, Series, write_charts

    series = tuple(
        Series(one.policy, tuple((p.scale, 100 * p.goodput) for p in one.found.probes))
        for one in found
    )
    text = f"Goodput against load ({params.seeds} seeds, target {params.target:.4g})"
    chart = Chart(text, "load, in rates of the scenario", "answered in time, %", series, y_most=100)
    write_charts(path, [chart], scenario.name)
