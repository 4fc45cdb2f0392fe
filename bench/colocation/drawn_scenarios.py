"""What benches of drawn scenarios have in common: the scenarios, loads, options and figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from bench.colocation.scenario_tables import Folders, read_with, scenarios_parser
from surplus.colocation import Scenario
from surplus.colocation.families.normal_load import full_scale
from surplus.colocation.families.registry import SCENARIO_FAMILIES, family_scenario
from surplus.colocation.results.comparison import Compared

MODELS = Path(__file__).parents[1] / "configs" / "colocation" / "abacus_models"
QUERIES = 1500
SEEDS = ("1000", "1001", "1002", "1003", "1004")

F = TypeVar("F")


def drawn(family: str, seed: int, data: Folders) -> Scenario:
    """A scenario whose files are in one of the folders.

    Raises
    ------
    ValueError
        If they are in none of them.
    """
    folders = data if SCENARIO_FAMILIES[family].measured else (None,)
    if not folders:
        raise ValueError(f"family {family!r} needs --data")
    return read_with(folders, lambda folder: family_scenario(family, seed, MODELS, folder))


@lru_cache(maxsize=1)
def whole(family: str, seed: str, data: Folders) -> tuple[Scenario, float]:
    """A scenario, and the factor on its rates that is a load of 1."""
    scenario = drawn(family, int(seed), data)
    return scenario, full_scale(scenario, QUERIES)


def by_policy(
    names: Iterable[str], compared: Iterable[Compared], figure: Callable[[Compared], F]
) -> dict[str, F | None]:
    """A figure of each policy; None of those that cannot serve the scenario."""
    there = {one.summary.policy: figure(one) for one in compared}
    return {name: there.get(name) for name in names}


def goodput(one: Compared) -> float:
    """Share of the queries that a policy answers in time."""
    return round(one.summary.total.goodput, 5)


def drawn_parser(said: str | None, policies: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Options that say which scenarios and, where there is a choice, policies; how far to go."""
    parser = scenarios_parser(said)
    add = parser.add_argument
    add("--families", type=words, default=list(SCENARIO_FAMILIES), metavar="NAME,...")
    if policies:
        add("--policies", type=words, default=list(policies), metavar="NAME,...", help="to compare")
    add("--seeds", type=words, default=list(SEEDS), metavar="N,...", help="of the generator")
    return parser


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",")]
