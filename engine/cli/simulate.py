"""``engine simulate``: policies of co-location side by side, on a virtual clock."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli import options
from engine.cli.output import check_chart, duration, show_json, show_rows
from engine.cli.parser import add_verb

if TYPE_CHECKING:
    from colocation import Compared, Scenario, Tally
    from colocation.load import Load

_SUMMARY = "compare policies that serve several models under latency targets"
_EXAMPLE = """
engine simulate bench/configs/colocation/two_services.toml --policy all
engine simulate pair.toml --data abacus_a100_pairs --policy fcfs,clockwork --json
engine simulate pair.toml --policy edf_drop --gantt g.html
engine simulate bench/configs/colocation/live/two_cpu.toml --live
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "simulate", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("scenario", type=Path, metavar="SCENARIO.toml", help="services, load, devices, policies")
    add("--policy", metavar="NAME,...", help="which policies, or all (default: the scenario's)")
    add("--data", type=Path, metavar="DIR", help="the folder that {data} in the scenario means")
    add("--seed", type=int, metavar="N", help="instead of the scenario's")
    add("--timing", action="store_true", help="add decision times, which differ between runs")
    add("--gantt", type=Path, metavar="G.html|G.png", help="draw the first policy's first second")
    add("--live", action="store_true", help="serve the load by the engine, too, in real time")
    options.add_cache(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate every policy, print tables or JSON, write what was asked for."""
    from dataclasses import replace

    from colocation import compare, policy_names, read_scenario

    check_chart(args.gantt)
    scenario = read_scenario(args.scenario, args.data)
    if args.seed is not None:
        scenario = replace(scenario, seed=args.seed)
    names = list(scenario.policies)
    if args.policy is not None:
        names = policy_names() if args.policy == "all" else args.policy.split(",")
    load, compared = compare(scenario, names)
    lived = _lived(scenario, names, args.cache) if args.live else []
    if args.gantt:
        _draw(args.gantt, scenario, load, (lived or compared)[0])
    if args.json:
        show_json(_document(scenario, compared, lived, args.timing))
    else:
        _show(f"{scenario.name}: {len(load)} queries, simulated", compared, args.timing)
        if lived:
            _show(f"{scenario.name}: {len(load)} queries, live", lived, args.timing)
            both = zip(compared, lived, strict=True)
            show_rows("live beside simulated", [_beside(*two) for two in both])
    return 0


def _lived(scenario: Scenario, names: Sequence[str], cache: Path | None) -> list[Compared]:
    from engine.live.replay import backend_of, compare_live

    return compare_live(scenario, names, backend_of(scenario, cache))[1]


def _document(
    scenario: Scenario, compared: Sequence[Compared], lived: Sequence[Compared], timing: bool
) -> dict[str, Any]:
    document: dict[str, Any] = {"scenario": scenario.name, "seed": scenario.seed}
    document["policies"] = [one.summary.to_dict(timing) for one in compared]
    if lived:
        document["live"] = [one.summary.to_dict(timing) for one in lived]
    return document


def _beside(simulated: Compared, live: Compared) -> dict[str, str]:
    ours, theirs = live.summary.total, simulated.summary.total
    row = {"policy": live.summary.policy}
    row |= {"late or lost": f"{ours.violations:.1%}", "simulated": f"{theirs.violations:.1%}"}
    row |= {"p99": _latency(ours.p99_ns), "simulated p99": _latency(theirs.p99_ns)}
    if ours.p99_ns is None or theirs.p99_ns is None:
        return row | {"p99 / simulated": "-"}
    return row | {"p99 / simulated": f"{ours.p99_ns / theirs.p99_ns:.2f}"}


def _draw(path: Path, scenario: Scenario, load: Load, first: Compared) -> None:
    from colocation.clock import NS_PER_S
    from colocation.timeline import timeline_of
    from engine.report.gantt import write_gantt

    services, devices = scenario.services, scenario.devices
    timeline = timeline_of(first.run, load, services, devices, NS_PER_S)
    write_gantt(path, timeline, title=f"{scenario.name}: {first.run.policy}")


def _show(title: str, compared: Sequence[Compared], timing: bool) -> None:
    show_rows(title, [_row(one, timing) for one in compared])
    by_service = [
        _service_row(one.summary.policy, one.summary.services[place])
        for place in range(len(compared[0].summary.services))
        for one in compared
    ]
    show_rows(f"{title}, by service", by_service)
    for one in compared:
        for short in one.run.deployment.shortfalls:
            service = one.summary.services[short.service].name
            text = f"{short.rate_per_s:.1f} queries/s have no place, {short.reason}"
            print(f"{one.run.policy}, {service}: {text}")


def _row(one: Compared, timing: bool) -> dict[str, str]:
    summary, total = one.summary, one.summary.total
    row = {"policy": summary.policy} | _shares(total)
    row |= {"good/s": f"{total.goodput_per_s:.1f}", "served/s": f"{total.served_per_s:.1f}"}
    row |= {"p99": _latency(total.p99_ns), "used": f"{summary.utilisation:.1%}"}
    row |= {"fair": f"{summary.fairness:.3f}"}
    return row | ({"decision": duration(summary.decision_mean_ns)} if timing else {})


def _service_row(policy: str, tally: Tally) -> dict[str, str]:
    lost = tally.rejected + tally.failed + tally.unfinished
    row = {"service": tally.name, "policy": policy} | _shares(tally)
    row |= {"lost": str(lost), "offered": str(tally.offered)}
    return row | {"p50": _latency(tally.p50_ns), "p99": _latency(tally.p99_ns)}


def _shares(tally: Tally) -> dict[str, str]:
    rows = {"in time": tally.in_time, "late": tally.late, "dropped": tally.dropped}
    return {key: f"{count / max(1, tally.offered):.1%}" for key, count in rows.items()}


def _latency(time_ns: int | None) -> str:
    return "-" if time_ns is None else duration(time_ns)
