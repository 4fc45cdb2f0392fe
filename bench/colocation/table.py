"""Every policy on made-up scenarios of all families, at loads that are parts of what anybody holds.

``python -m bench colocation_table --data ABACUS_PAIRS --data FOLDER_OF_VELTAIR``

A row is a family, a seed of its generator and a load, with the figures of every registered policy.
A load of 1 is the rate at which the clairvoyant bound falls below 99 % (``full_scale``), which is
found once for a family and a seed, and kept. ``--families``, ``--seeds`` and ``--loads`` measure a
part; the same command goes on where it was stopped. ``--table`` shows what there is: how many
points of goodput each policy is below the best other one, on the mean and at worst.

Seeds below 1000 are for tuning; a table that is to be believed is of seeds from 1000 on, which
nobody looked at before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.console import Console

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import Scenario, policy_names
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.families.normal_load import at_load, full_scale
from surplus.colocation.families.registry import SCENARIO_FAMILIES, family_scenario
from surplus.colocation.results.comparison import Compared, compare_able

MODELS = Path(__file__).parents[1] / "configs" / "colocation" / "abacus_models"
QUERIES = 1500
LOADS = (0.5, 0.7, 0.85, 1.0, 1.3)
SEEDS = (1000, 1001, 1002, 1003, 1004)
LIGHT = 0.85
"""Up to which load policies are held against the bound."""
CONFIG = {"queries": QUERIES}
_OURS = ("surplus", "priced")

Folders = tuple[Path, ...]
"""What ``{data}`` may mean."""


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


def measured_scale(key: Key, data: Folders) -> Row:
    """What a load of 1 is."""
    family, seed = key
    scenario = drawn(family, int(seed), data)
    return {"family": family, "seed": int(seed), "scale": full_scale(scenario, QUERIES)}


def measure(key: Key, scales: dict[Key, float], data: Folders) -> Row:
    """All policies on one scenario."""
    family, seed, load = key
    scenario = at_load(drawn(family, int(seed), data), float(load) * scales[key[:2]], QUERIES)
    drawn_load, compared, _refused = compare_able(scenario, policy_names())
    bound = scenario_bound(scenario, drawn_load)
    return {
        "family": family,
        "seed": int(seed),
        "load": float(load),
        "queries": len(drawn_load),
        "bound": round(bound.goodput, 5),
        "proved": bound.proved,
        "goodput": _by_policy(compared, lambda one: round(one.summary.total.goodput, 5)),
        "fairness": _by_policy(compared, lambda one: round(one.summary.fairness, 4)),
        "decision_us": _by_policy(compared, lambda one: one.summary.decision_mean_ns // 100 / 10),
    }


def _by_policy(compared: Iterable[Compared], figure: Any) -> dict[str, Any]:
    """A figure of each policy; None of those that cannot serve the scenario."""
    there = {one.summary.policy: figure(one) for one in compared}
    return {name: there.get(name) for name in policy_names()}


def below(row: Row, policy: str) -> float | None:
    """Points of goodput that a policy is below the best other one; negative above it.

    Our own two are no others of each other.
    """
    own = row["goodput"].get(policy)
    passed = _OURS if policy in _OURS else (policy,)
    others = [g for name, g in row["goodput"].items() if name not in passed and g is not None]
    return None if own is None else 100 * (max(others) - own)


def summaries(rows: Sequence[Row]) -> list[Row]:
    """A row a policy, the one that is closest to the best others first."""
    names = list(dict.fromkeys(name for row in rows for name in row["goodput"]))
    found = [_summary(rows, name) for name in names]
    return sorted(found, key=lambda own: own["mean below the best, points"])


def _summary(rows: Sequence[Row], policy: str) -> Row:
    able = [row for row in rows if row["goodput"].get(policy) is not None]
    gaps = [gap for row in able if (gap := below(row, policy)) is not None]
    by_seed = [
        fmean(
            gap for row in able if row["seed"] == seed and (gap := below(row, policy)) is not None
        )
        for seed in sorted({row["seed"] for row in able})
    ]
    light = [row for row in able if row["load"] <= LIGHT]
    return {
        "policy": policy,
        "scenarios": f"{len(able)} of {len(rows)}",
        "mean below the best, points": round(fmean(gaps), 2) if gaps else float("inf"),
        "95 %": f"± {1.96 * stdev(by_seed) / len(by_seed) ** 0.5:.2f}" if len(by_seed) > 1 else "-",
        "worst": round(max(gaps), 1) if gaps else "-",
        f"% of the bound, load <= {LIGHT}": _of_bound(light, policy),
        "fairness": _mean(able, "fairness", policy),
        "decision us": _mean(able, "decision_us", policy),
    }


def _of_bound(rows: Sequence[Row], policy: str) -> float | str:
    shares = [100 * row["goodput"][policy] / row["bound"] for row in rows if row["bound"]]
    return round(fmean(shares), 2) if shares else "-"


def _mean(rows: Sequence[Row], figure: str, policy: str) -> float | str:
    return round(fmean(row[figure][policy] for row in rows), 3) if rows else "-"


def main() -> int:
    """Fill the table, or show what there is of it."""
    args = _parser().parse_args()
    table = Table("colocation_table", CONFIG, ("family", "seed", "load"))
    scales = Table("colocation_full_scales", CONFIG, ("family", "seed"))
    pairs = [(family, str(seed)) for seed in args.seeds for family in args.families]
    keys = [(*pair, str(load)) for pair in pairs for load in args.loads]
    if not args.table:
        data = tuple(args.data)
        fill_within(scales, pairs, lambda key: measured_scale(key, data), args.seconds, whole=False)
        known = {scales.key_of(row): row["scale"] for row in scales.rows}
        _fill(table, [key for key in keys if key[:2] in known], known, data, args)
    if args.store and table.rows:
        table.store(keys)
        scales.store(pairs)
    if table.rows:
        result_file.show("colocation_table", summaries(table.rows))
    return 0


def _fill(
    table: Table,
    keys: Sequence[Key],
    scales: dict[Key, float],
    data: Folders,
    args: argparse.Namespace,
) -> None:
    """Measure what is missing, and say how far it is."""
    console = Console(stderr=True)
    left = len(table.missing(keys))

    def row(key: Key) -> Row:
        nonlocal left
        found = measure(key, scales, data)
        left -= 1
        gap = below(found, "surplus")
        console.print(f"{' '.join(key)}: surplus {gap:.2f} points below; {left} left")
        return found

    fill_within(table, keys, row, args.seconds, whole=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, action="append", default=[], metavar="DIR", help="what {data} means")
    add("--families", type=words, default=list(SCENARIO_FAMILIES), metavar="NAME,...")
    add("--loads", type=words, default=LOADS, metavar="X,...", help="times what anybody holds")
    add("--seeds", type=words, default=SEEDS, metavar="N,...", help="of the generator")
    add("--table", action="store_true", help="show what has been measured")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    return parser


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
