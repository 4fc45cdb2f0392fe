"""Every policy on made-up scenarios of all families, at loads that are parts of what anybody holds.

``python -m bench colocation_table --data ABACUS_PAIRS --data FOLDER_OF_VELTAIR``

A row is a family, a seed of its generator and a load, with the figures of every registered policy.
A load of 1 is the rate at which the clairvoyant bound falls below 99 % (``full_scale``), which is
found once for a family and a seed, and kept. ``--families``, ``--seeds`` and ``--loads`` measure a
part; the same command goes on where it was stopped. ``--table`` shows what there is: how many
points of goodput each policy is below the best other one, on the mean and at worst. What fairness
costs has a row, too: ``surplus`` with a guarantee of 90 % of its queries to every service.

Seeds below 1000 are for tuning; a table that is to be believed is of seeds from 1000 on, which
nobody looked at before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

from rich.console import Console

from bench.colocation.drawn_scenarios import (
    QUERIES,
    by_policy,
    drawn,
    drawn_parser,
    goodput,
    words,
)
from bench.colocation.scenario_tables import Folders
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import fill_within
from surplus.colocation import policy_names, policy_spec
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.families.normal_load import at_load, full_scale
from surplus.colocation.policies.names import add_policy, with_options
from surplus.colocation.results.comparison import compare_able

LOADS = (0.5, 0.7, 0.85, 1.0, 1.3)
LIGHT = 0.85
"""Up to which load policies are held against the bound."""
CONFIG = {"queries": QUERIES}
_FAR = 3.0
"""Points below the best other policy that are too many."""
_FAIR = "surplus, guarantee 0.9"
_GUARANTEE = {"guarantee": 0.9}
_OURS = ("surplus", "priced", _FAIR)


def measured_scale(key: Key, data: Folders) -> Row:
    """What a load of 1 is."""
    family, seed = key
    scenario = drawn(family, int(seed), data)
    return {"family": family, "seed": int(seed), "scale": full_scale(scenario, QUERIES)}


def measure(key: Key, scales: dict[Key, float], data: Folders) -> Row:
    """All policies on one scenario."""
    family, seed, load = key
    scenario = at_load(drawn(family, int(seed), data), float(load) * scales[key[:2]], QUERIES)
    names = _contenders()
    drawn_load, compared, _refused = compare_able(scenario, names)
    bound = scenario_bound(scenario, drawn_load)
    return {
        "family": family,
        "seed": int(seed),
        "load": float(load),
        "queries": len(drawn_load),
        "bound": round(bound.goodput, 5),
        "proved": bound.proved,
        "goodput": by_policy(names, compared, goodput),
        "fairness": by_policy(names, compared, lambda one: round(one.summary.fairness, 4)),
        "decision_us": by_policy(
            names, compared, lambda one: one.summary.decision_mean_ns // 100 / 10
        ),
    }


def _contenders() -> list[str]:
    """Every registered policy, and ours with its option to be fair."""
    if _FAIR not in policy_names():
        add_policy(replace(with_options(policy_spec("surplus"), _GUARANTEE), name=_FAIR))
    return policy_names()


def below(row: Row, policy: str) -> float | None:
    """Points of goodput that a policy is below the best other one; negative above it.

    Our own are no others of each other.
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


def of_ours(rows: Sequence[Row], grouped: str) -> list[Row]:
    """How ``surplus`` does by family or by load: against the best other policy, and the bound."""
    found = []
    for value in dict.fromkeys(row[grouped] for row in rows):
        group = [row for row in rows if row[grouped] == value]
        gaps = [gap for row in group if (gap := below(row, "surplus")) is not None]
        found.append(
            {
                grouped: value,
                "scenarios": len(group),
                "mean below the best other, points": round(fmean(gaps), 2),
                "worst": round(max(gaps), 1),
                "more than 3 below": sum(gap > _FAR for gap in gaps),
                "% of the bound": _of_bound(group, "surplus"),
            }
        )
    return found


def _of_bound(rows: Sequence[Row], policy: str) -> float | str:
    shares = [100 * row["goodput"][policy] / row["bound"] for row in rows if row["bound"]]
    return round(fmean(shares), 2) if shares else "-"


def _mean(rows: Sequence[Row], figure: str, policy: str) -> float | str:
    return round(fmean(row[figure][policy] for row in rows), 3) if rows else "-"


def main() -> int:
    """Fill the table, or show what there is of it."""
    parser = drawn_parser(__doc__)
    parser.add_argument(
        "--loads", type=words, default=LOADS, metavar="X,...", help="times what anybody holds"
    )
    args = parser.parse_args()
    table = Table("colocation_table", CONFIG, ("family", "seed", "load"))
    scales = Table("colocation_full_scales", CONFIG, ("family", "seed"))
    pairs = [(family, seed) for seed in args.seeds for family in args.families]
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
        sums = {
            "colocation_table_sums": summaries(table.rows),
            "colocation_table_families": of_ours(table.rows, "family"),
            "colocation_table_loads": of_ours(table.rows, "load"),
        }
        for name, lines in sums.items():
            if args.store:
                result_file.write(name, CONFIG, lines)
            result_file.show(name, lines)
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


if __name__ == "__main__":
    sys.exit(main())
