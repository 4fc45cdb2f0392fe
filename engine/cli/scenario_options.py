"""Arguments of every verb that reads a scenario and compares policies."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.colocation import Scenario


def add_scenario(parser: argparse.ArgumentParser, about: str) -> None:
    """SCENARIO.toml, --policy and --data."""
    add = parser.add_argument
    add("scenario", type=Path, metavar="SCENARIO.toml", help=about)
    add("--policy", metavar="NAME,...", help="which policies, or all (default: the scenario's)")
    add("--data", type=Path, metavar="DIR", help="the folder that {data} in the scenario means")


def asked_policies(text: str | None, scenario: Scenario) -> list[str]:
    """Names that ``--policy`` says, in their order and each once.

    Raises
    ------
    ValueError
        If there is no policy of a name.
    """
    from surplus.colocation import policy_names, policy_spec

    names = list(scenario.policies)
    if text is not None:
        names = policy_names() if text == "all" else [name.strip() for name in text.split(",")]
    for name in names:
        policy_spec(name)
    return list(dict.fromkeys(names))


def scenario_of(args: argparse.Namespace) -> Scenario:
    """The scenario that is asked for, of another length where one is given."""
    from surplus.colocation import read_scenario
    from surplus.colocation.frame.clock import NS_PER_S
    from surplus.colocation.results.comparison import check_targets

    scenario = read_scenario(args.scenario, args.data)
    if args.duration is not None:
        if not 0 < args.duration < 1e6:
            raise ValueError(f"--duration: expected seconds > 0, got {args.duration}")
        scenario = replace(scenario, duration_ns=round(args.duration * NS_PER_S))
    check_targets(scenario)
    if not len(scenario.load()):
        seconds = scenario.duration_ns / NS_PER_S
        text = f"no query comes in {seconds:g} s, any load would be held"
        raise ValueError(f"{scenario.name}: {text}")
    return scenario
