"""Families of scenarios: the same for the same seed, files that can be read, normal loads."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from surplus.colocation import read_scenario
from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.families.__main__ import main
from surplus.colocation.families.normal_load import at_load, full_scale
from surplus.colocation.families.registry import (
    SCENARIO_FAMILIES,
    family_document,
    family_scenario,
)
from surplus.colocation.families.toml_text import toml_text
from surplus.colocation.results.comparison import check_targets

SMALL = ("tails", 2)
QUERIES = 50
PLAIN = [name for name, family in SCENARIO_FAMILIES.items() if not family.measured]


@pytest.mark.parametrize("family", SCENARIO_FAMILIES)
def test_a_seed_says_all_of_a_document(family: str) -> None:
    documents = [family_document(family, seed) for seed in range(6)]
    assert documents == [family_document(family, seed) for seed in range(6)]
    assert len({str(document["service"]) for document in documents}) == 6


@pytest.mark.parametrize("family", SCENARIO_FAMILIES)
def test_the_text_of_a_document_is_read_as_it_is(family: str) -> None:
    for seed in range(3):
        document = family_document(family, seed)
        read = tomllib.loads(toml_text(document))
        assert read == tomllib.loads(toml_text(read))
        assert read["service"] == document["service"]
        assert read["truth"] == document["truth"]


@pytest.mark.parametrize("family", PLAIN)
def test_targets_can_be_met(family: str) -> None:
    for seed in range(8):
        scenario = family_scenario(family, seed)
        check_targets(scenario)
        assert all(tenant.arrivals.rate_per_s > 0 for tenant in scenario.tenants)


def test_an_unknown_family_names_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="unknown family 'knee'; there are: knees, gpulets"):
        family_document("knee", 1)


@cache
def small_scale() -> float:
    """Of a scenario that is quickly bounded."""
    return full_scale(family_scenario(*SMALL), QUERIES)


def test_a_load_of_one_is_where_the_bound_falls() -> None:
    scenario, scale = family_scenario(*SMALL), small_scale()
    held, lost = (scenario_bound(at_load(scenario, k * scale, QUERIES)) for k in (1.0, 1.1))
    assert held.goodput >= 0.99 > lost.goodput


def test_a_scenario_with_changes_keeps_its_length() -> None:
    scenario = family_scenario("changing", 2)
    twice = at_load(scenario, 2.0, 10)
    assert twice.duration_ns == scenario.duration_ns
    for before, after in zip(scenario.tenants, twice.tenants, strict=True):
        assert after.arrivals.rate_per_s == pytest.approx(2 * before.arrivals.rate_per_s)


def test_the_command_prints_a_file_at_a_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([SMALL[0], "--seed", str(SMALL[1]), "--load", "0.5", "--queries", str(QUERIES)]) == 0
    )
    path = tmp_path / "drawn.toml"
    path.write_text(capsys.readouterr().out)
    scenario = read_scenario(path)
    wanted = at_load(family_scenario(*SMALL), 0.5 * small_scale(), QUERIES)
    rates = [[t.arrivals.rate_per_s for t in own.tenants] for own in (scenario, wanted)]
    assert rates[0] == pytest.approx(rates[1])


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--load", "0.5"]) == 2
    assert "families: error:" in capsys.readouterr().err
    assert main(["whole", "--load", "-1"]) == 2
    assert "0 < load < 100" in capsys.readouterr().err
