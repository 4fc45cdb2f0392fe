"""What benches of drawn scenarios have in common: the scenarios, loads, options and figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from bench.safety.budget import add_budget
from surplus.colocation import Scenario
from surplus.colocation.families.normal_load import full_scale
from surplus.colocation.families.registry import SCENARIO_FAMILIES, family_scenario
from surplus.colocation.results.comparison import Compared

MODELS = Path(__file__).parents[1] / "configs" / "colocation" / "abacus_models"
QUERIES = 1500
SEEDS = ("1000", "1001", "1002", "1003", "1004")

Folders = tuple[Path, ...]
"""What ``{data}`` may mean."""

F = TypeVar("F")


def drawn(family: str, seed: int, data: Folders) -> Scenario:
    """A scenario whose files are in one of the folders.

    Raises
    ------
    ValueError
        If they are in none of them.
    """
    reasons = []
    for folder in data if SCENARIO_FAMILIES[family].measured else (None,):
        try:
            return family_scenario(family, seed, MODELS, folder)
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError("; ".join(reasons) or f"family {family!r} needs --data")


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
    parser = argparse.ArgumentParser(description=said)
    add = parser.add_argument
    add("--data", type=Path, action="append", default=[], metavar="DIR", help="what {data} means")
    add("--families", type=words, default=list(SCENARIO_FAMILIES), metavar="NAME,...")
    if policies:
        add("--policies", type=words, default=list(policies), metavar="NAME,...", help="to compare")
    add("--seeds", type=words, default=list(SEEDS), metavar="N,...", help="of the generator")
    add("--table", action="store_true", help="show what has been measured")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    return parser


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word.strip() for word in text.split(",")]
