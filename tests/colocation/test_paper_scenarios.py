"""The shipped scenarios say what the papers' tables say: who, by when, how often."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

CONFIGS = Path(__file__).parents[2] / "bench" / "configs" / "colocation"

ABACUS = ("resnet50", "resnet101", "resnet152", "inception_v3", "vgg16", "vgg19", "bert")
PAIR_SLOS_MS = (100, 150, 100, 50, 50, 75, 160, 150, 90, 80, 130)
PAIR_SLOS_MS += (150, 150, 150, 150, 80, 80, 80, 30, 60, 60)
"""Of the release, in the order of its pairs."""

GPULET_SLOS_MS = {"goo": 66, "le": 5, "res": 108, "ssd": 202, "vgg": 142}
GPULET_SLOS_MS |= {"nas": 62, "mob": 64, "den": 202, "be": 22}
"""gpulet (ATC'22), Table 3."""
GPULET = {
    "scen1": ("be", "goo", "mob", "nas"),
    "scen2": ("den", "vgg"),
    "scen3": ("mob", "res", "vgg"),
    "scen4": ("den", "nas", "ssd"),
    "scen5": ("le", "nas", "ssd", "vgg"),
    "models": tuple(sorted(GPULET_SLOS_MS)),
}
"""Table 4, and all models of Table 3."""

TABLE_VI = {
    "mobilenet": (20, 25, 10),
    "alexnet": (30, 25, 8),
    "bert": (30, 25, 9),
    "resnet50": (40, 50, 28),
    "vgg19": (50, 100, 55),
    "resnet18": (30, 25, 12),
    "inception": (40, 50, 25),
    "resnext50": (50, 100, 40),
}
"""D-STACK (TCC'24): knee in percent, target and time of a batch of 16 in ms."""
C_4 = {"resnet50": 320, "vgg19": 160, "bert": 700, "mobilenet": 700}
DSTACK = {
    "c2": {name: C_4[name] for name in ("resnet50", "vgg19")},
    "c3": {name: C_4[name] for name in ("resnet50", "vgg19", "bert")},
    "c4": C_4,
    "c7": {
        "resnet50": 220,
        "vgg19": 80,
        "bert": 440,
        "mobilenet": 440,
        "resnet18": 440,
        "inception": 220,
        "resnext50": 80,
    },
}
"""Section 7: requests a second; BERT in Alexnet's place, as in Fig. 11."""


def services(path: str) -> dict[str, dict[str, Any]]:
    """The services of a scenario by name."""
    rows = tomllib.loads((CONFIGS / f"{path}.toml").read_text())["service"]
    return {row["name"]: row for row in rows}


@pytest.mark.parametrize(
    ("pair", "slo_ms"), list(zip(combinations(ABACUS, 2), PAIR_SLOS_MS, strict=True))
)
def test_pairs_of_abacus(pair: tuple[str, str], slo_ms: int) -> None:
    found = services(f"abacus_pairs/{'_'.join(pair)}")
    assert tuple(found) == pair
    assert {row["slo_ms"] for row in found.values()} == {slo_ms}
    assert sum(row["load"]["rate_per_s"] for row in found.values()) == 50


@pytest.mark.parametrize("size", [3, 4])
def test_triplets_and_the_quadruplet_of_abacus(size: int) -> None:
    for names in combinations(("resnet101", "resnet152", "vgg19", "bert"), size):
        found = services(f"abacus_many/{'_'.join(names)}")
        assert tuple(found) == names
        rate_per_s = sum(row["load"]["rate_per_s"] for row in found.values())
        assert rate_per_s == pytest.approx(50, rel=1e-4)


@pytest.mark.parametrize("name", GPULET)
def test_scenarios_of_gpulet(name: str) -> None:
    found = services(f"gpulet/{name}")
    assert tuple(sorted(found)) == GPULET[name]
    assert all(row["slo_ms"] == GPULET_SLOS_MS[own] for own, row in found.items())
    assert len({row["load"]["rate_per_s"] for row in found.values()}) == 1


def test_applications_of_gpulet() -> None:
    game, traffic = services("gpulet/game"), services("gpulet/traffic")
    assert sorted(game) == ["le1", "le2", "le3", "le4", "le5", "le6", "res"]
    assert {row["slo_ms"] for row in game.values()} == {108}
    assert sorted(traffic) == ["goo", "ssd", "vgg"]
    assert traffic["ssd"]["slo_ms"] + traffic["goo"]["slo_ms"] == 202
    assert traffic["goo"]["slo_ms"] == traffic["vgg"]["slo_ms"]


@pytest.mark.parametrize("name", DSTACK)
def test_rates_of_dstack(name: str) -> None:
    found = services(f"dstack/{name}")
    assert {own: row["load"]["rate_per_s"] for own, row in found.items()} == DSTACK[name]


def test_fig_11b_halves_one_rate_after_the_other() -> None:
    found = services("dstack/fig11b")
    assert list(found) == ["alexnet", "mobilenet", "resnet50", "vgg19"]
    for place, row in enumerate(found.values()):
        first, *later = row["load"]["rates_per_s"]
        assert later == [first / 2 if step == place else first for step in range(4)]


@pytest.mark.parametrize("name", [*DSTACK, "fig11b", "saturated", "cluster"])
def test_models_of_dstack(name: str) -> None:
    for own, row in services(f"dstack/{name}").items():
        knee_percent, slo_ms, batch_ms = TABLE_VI[own]
        profile = row["profile"]
        assert (profile["knee_percent"], row["slo_ms"]) == (knee_percent, slo_ms)
        whole_ns = profile["fixed_ns"] + 16 * profile["per_item_ns"]
        assert whole_ns == pytest.approx(batch_ms * 1e6, rel=1e-4)
