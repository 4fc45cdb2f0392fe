"""The charts of ``engine simulate``: goodput, against load if asked for, and p99 by service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.cli.progress import progress_bar
from surplus.engine.report.charts import Chart, Series, write_charts

if TYPE_CHECKING:
    from surplus.colocation import Compared, Scenario
    from surplus.colocation.clairvoyant import Bound

_NS_PER_MS = 1e6


def parse_loads(text: str | None) -> tuple[float, ...]:
    """Read ``0.5,1,2``: factors on the rates of a scenario.

    Raises
    ------
    ValueError
        If one is no number > 0.
    """
    loads = []
    for word in text.split(",") if text else ():
        try:
            load = float(word)
        except ValueError:
            load = float("nan")
        if not 0 < load < float("inf"):
            raise ValueError(f"--loads: expected factors > 0, got {word!r}")
        loads.append(load)
    return tuple(sorted(set(loads)))


def check_loads(scenario: Scenario, loads: Sequence[float]) -> None:
    """Refuse loads that cannot be drawn, before anything is simulated.

    Raises
    ------
    ValueError
        Naming the load and why.
    """
    for load in loads:
        try:
            scenario.scaled(load).load()
        except ValueError as error:
            raise ValueError(f"--loads: {load:g}: {error}") from error


def draw_comparison(
    path: Path,
    scenario: Scenario,
    compared: Sequence[Compared],
    bound: Bound,
    loads: Sequence[float],
) -> None:
    """Write all charts that there are figures for."""
    charts = [_against_load(scenario, compared, loads)] if loads else []
    charts += [_goodput(scenario, compared, bound), _p99(scenario, compared)]
    write_charts(path, charts, scenario.name)


def _against_load(
    scenario: Scenario, compared: Sequence[Compared], loads: Sequence[float]
) -> Chart:
    from surplus.colocation.results.capacity import BOUND, CapacityParams, probe

    names = [*(one.summary.policy for one in compared), BOUND]
    params = CapacityParams(seeds=1)
    series = []
    with progress_bar() as report:
        for place, name in enumerate(names):
            report("goodput against load", place, len(names))
            found = (probe(scenario, name, load, params) for load in loads)
            series.append(Series(name, tuple((p.scale, 100 * p.goodput) for p in found)))
        report("goodput against load", len(names), len(names))
    label = "load, in rates of the scenario"
    return Chart("Goodput against load", label, "answered in time, %", tuple(series), y_most=100)


def _goodput(scenario: Scenario, compared: Sequence[Compared], bound: Bound) -> Chart:
    """Of all queries and of each service; the bound as a line across."""
    categories = ("all", *(service.name for service in scenario.services))
    series = []
    for one in compared:
        tallies = (one.summary.total, *one.summary.services)
        points = tuple((float(place), 100 * t.goodput) for place, t in enumerate(tallies))
        series.append(Series(one.summary.policy, points))
    marks = (100 * bound.goodput,)
    text = "Goodput, and what no policy can beat (dashed)"
    return Chart(text, "", "answered in time, %", tuple(series), categories, marks, 100)


def _p99(scenario: Scenario, compared: Sequence[Compared]) -> Chart:
    """Latencies above twice the longest target are cut."""
    services = scenario.services
    series = []
    for one in compared:
        points = tuple(
            (float(place), tally.p99_ns / _NS_PER_MS)
            for place, tally in enumerate(one.summary.services)
            if tally.p99_ns is not None
        )
        series.append(Series(one.summary.policy, points))
    marks = tuple(service.slo_ns / _NS_PER_MS for service in services)
    names = tuple(service.name for service in services)
    text = "p99 of the answered queries, and targets (dashed); drops censor it"
    return Chart(text, "", "ms", tuple(series), names, marks, 2 * max(marks))
