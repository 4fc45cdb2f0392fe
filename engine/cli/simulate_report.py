"""What ``engine simulate`` prints and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surplus.engine.cli.load_limits import show_need

if TYPE_CHECKING:
    from surplus.colocation import Compared, Scenario
    from surplus.colocation.clairvoyant.bound import Bound
    from surplus.colocation.frame.load import Load


class Simulated(NamedTuple):
    """A load under each policy, simulated and perhaps live; why others cannot; what anybody could.

    ``refused`` is by policy.
    """

    scenario: Scenario
    load: Load
    compared: Sequence[Compared]
    lived: Sequence[Compared]
    refused: Mapping[str, str]
    bound: Bound


def lived_too(scenario: Scenario, names: Sequence[str], cache: Path | None) -> list[Compared]:
    """The same load served by the engine under each policy, in real time."""
    from surplus.engine.scheduling.replay import backend_of, compare_live

    return compare_live(scenario, names, backend_of(scenario, cache))[1]


def simulation_document(found: Simulated, timing: bool) -> dict[str, Any]:
    """All figures, for JSON."""
    document: dict[str, Any] = {"scenario": found.scenario.name, "seed": found.scenario.seed}
    document["policies"] = [one.summary.to_dict(timing) for one in found.compared]
    if found.lived:
        document["live"] = [one.summary.to_dict(timing) for one in found.lived]
    return document | {"bound": found.bound.to_dict(), "refused": dict(found.refused)}


def show_simulation(found: Simulated, timing: bool, *, in_order: bool) -> None:
    """Print a table of all policies, the best first if ``in_order``, and of the live ones."""
    from surplus.engine.cli.simulate_tables import ranked, show_beside, show_compared

    title = f"{found.scenario.name}: {len(found.load)} queries"
    rows = ranked(found.compared) if in_order else found.compared
    show_compared(f"{title}, simulated", rows, timing, found.bound)
    for name, reason in found.refused.items():
        print(f"{name}: cannot serve this scenario, {reason}")
    show_need(found.scenario, found.bound)
    if found.lived:
        show_compared(f"{title}, live", found.lived, timing)
        show_beside(found.compared, found.lived)


def draw_first(path: Path, found: Simulated) -> None:
    """Draw the first second of the first policy's run, the live one if there is one."""
    from surplus.colocation.frame.clock import NS_PER_S
    from surplus.colocation.results.timeline import timeline_of
    from surplus.engine.report.gantt import write_gantt

    first = (found.lived or found.compared)[0]
    services, devices = found.scenario.services, found.scenario.devices
    timeline = timeline_of(first.run, found.load, services, devices, NS_PER_S)
    write_gantt(path, timeline, title=f"{found.scenario.name}: {first.run.policy}")
