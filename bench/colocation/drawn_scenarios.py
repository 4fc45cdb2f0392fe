"""What benches of drawn scenarios have in common: loads that are parts of what anybody holds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from bench.colocation.table import QUERIES, Folders, drawn, words
from bench.safety.budget import add_budget
from surplus.colocation import Scenario
from surplus.colocation.families.normal_load import full_scale
from surplus.colocation.families.registry import SCENARIO_FAMILIES

SEEDS = ("1000", "1001", "1002", "1003", "1004")


@lru_cache(maxsize=1)
def whole(family: str, seed: str, data: Folders) -> tuple[Scenario, float]:
    """A scenario, and the factor on its rates that is a load of 1."""
    scenario = drawn(family, int(seed), data)
    return scenario, full_scale(scenario, QUERIES)


def drawn_parser(said: str | None, policies: Sequence[str]) -> argparse.ArgumentParser:
    """Options that say which scenarios and policies, and how far to go."""
    parser = argparse.ArgumentParser(description=said)
    add = parser.add_argument
    add("--data", type=Path, action="append", default=[], metavar="DIR", help="what {data} means")
    add("--families", type=words, default=list(SCENARIO_FAMILIES), metavar="NAME,...")
    add("--policies", type=words, default=list(policies), metavar="NAME,...", help="to compare")
    add("--seeds", type=words, default=list(SEEDS), metavar="N,...", help="of the generator")
    add("--table", action="store_true", help="show what has been measured")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    return parser
