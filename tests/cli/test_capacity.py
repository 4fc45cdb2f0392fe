"""``engine capacity``, and what ``engine simulate`` says of limits and draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from surplus.engine.cli.main import main
from tests.cli.calls import Called

SCENARIO = """
duration_s = 1
seed = 1
policies = ["fcfs", "edf_drop"]
[[device]]
name = "gpu"
[[service]]
name = "a"
slo_ms = 40
profile = { kind = "affine", fixed_ns = 8000000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 70 }
[[service]]
name = "b"
slo_ms = 60
profile = { kind = "table", items = [1], ms = { 100 = [5] } }
load = { kind = "poisson", rate_per_s = 60 }
"""
Command = Callable[..., Called]


@pytest.fixture
def engine(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*words: object) -> Called:
        status = main([str(word) for word in words])
        return Called(status, *capsys.readouterr())

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO)
    return path


def test_capacity_of_each_policy_and_of_none(
    engine: Command, scenario: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "c.html"
    words = ("--policy", "fcfs,edf_drop,gslice", "--seeds", 2, "--tolerance", 0.2)
    called = engine("capacity", scenario, *words, "--target", 0.9, "--plot", plot, "--json")
    document = called.json()
    rates = {row["policy"]: row["rate_per_s"] for row in document["policies"]}
    assert 0 < rates["fcfs"] <= rates["clairvoyant bound"] * 1.2
    assert document["seeds"] == [1, 2]
    assert "service 'b' at 50 %" in document["refused"]["gslice"]
    assert all(name in plot.read_text() for name in ("fcfs", "edf_drop", "clairvoyant bound"))


def test_capacity_as_a_table(engine: Command, scenario: Path) -> None:
    called = engine("capacity", scenario, "--seeds", 1, "--tolerance", 0.5, "--policy", "gslice")
    assert called.status == 0
    assert "clairvoyant bound" in called.out
    assert "gslice: cannot serve this scenario, service 'b' at 50 %" in called.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "magic"), "unknown policy 'magic'"),
        (("--target", "0"), "0 < target <= 1"),
        (("--seeds", "0"), "seeds 1 to 1000"),
        (("--seeds", "100000000000000000000"), "seeds 1 to 1000"),
        (("--tolerance", "0"), "tolerance must be >= 1e-06"),
        (("--tolerance", "1e-300"), "tolerance must be >= 1e-06"),
        (("--duration", "1e-9"), "no query comes in 1e-09 s"),
        (("--plot", "p.pdf"), "p.pdf: the suffix of a chart must be"),
        (("--policy", "fcfs,all"), "unknown policy 'all'"),
        (("--duration", "nan"), "--duration"),
        (("--plot", "nowhere/p.html"), "there is no folder"),
    ],
)
def test_wrong_usage_of_capacity(
    engine: Command, scenario: Path, words: tuple[str, str], message: str
) -> None:
    called = engine("capacity", scenario, *words)
    assert message in called.err
    assert called.is_one_clear_line(), called


@pytest.mark.parametrize("verb", ["simulate", "capacity"])
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "slo_ms = 40",
            "slo_ms = 5",
            "service 'a' takes 8 ms alone, 3 ms more than its",
        ),
        ("items = [1]", "items = [1], shares = 2", "shares"),
        ("slo_ms = 60", "slo_ms = 60\nitems = [2]", "service 'b': no time for a batch of 2"),
        ('kind = "table"', 'kind = "magic"', "service 'b', profile: unknown profile 'magic'"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said(
    engine: Command, scenario: Path, verb: str, before: str, after: str, message: str
) -> None:
    scenario.write_text(SCENARIO.replace(before, after))
    called = engine(verb, scenario)
    assert message in called.err
    assert called.is_one_clear_line(), called


def test_simulate_shows_the_bound_and_what_could_not_serve(engine: Command, scenario: Path) -> None:
    document = engine("simulate", scenario, "--policy", "all", "--json").json()
    names = [row["policy"] for row in document["policies"]]
    assert "fcfs" in names
    assert "gslice" not in names
    assert "service 'b'" in document["refused"]["gslice"]
    best = max(row["total"]["in_time"] for row in document["policies"])
    assert best <= document["bound"]["in_time"] <= document["bound"]["offered"]
    assert "clairvoyant bound" in engine("simulate", scenario).out


def test_a_load_that_no_deployment_holds_is_said(engine: Command, scenario: Path) -> None:
    scenario.write_text(SCENARIO.replace("rate_per_s = 70", "rate_per_s = 270"))
    out = " ".join(engine("simulate", scenario).out.split())
    assert "no deployment holds this load: it takes at least 2." in out
    assert "of 1 devices (a 2." in out


TITLES = ("Goodput against load<", "Goodput, and what", "p99 of the answered")


def test_simulate_draws_goodput_and_p99(engine: Command, scenario: Path, tmp_path: Path) -> None:
    plot = tmp_path / "p.html"
    called = engine("simulate", scenario, "--plot", plot, "--loads", "0.5,2")
    assert called.status == 0, called.err
    text = plot.read_text()
    assert "clairvoyant bound" in text
    assert [text.count(f">{title}") for title in TITLES] == [1, 1, 1]
    assert engine("simulate", scenario, "--plot", plot).status == 0
    assert [plot.read_text().count(f">{title}") for title in TITLES] == [0, 1, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--loads", "1,2"), "--loads needs --plot"),
        (("--loads", "1,1e308", "--plot", "p.html"), "--loads: 1e+308: rate_per_s must be"),
        (("--loads", "1e9", "--plot", "p.html"), "--loads: 1e+09: s, service 'a': a load of"),
        (("--plot", "p.pdf"), "p.pdf: the suffix of a chart must be"),
        (("--plot", "p.html", "--gantt", "p.html"), "p.html: is to be written twice"),
        (("--policy", ""), "unknown policy ''"),
    ],
)
def test_wrong_usage_of_simulate(
    engine: Command,
    scenario: Path,
    words: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(scenario.parent)
    called = engine("simulate", scenario, *words)
    assert message in called.err
    assert called.is_one_clear_line(), called
    assert not (scenario.parent / "p.html").exists()


def test_policies_are_named_once_each(engine: Command, scenario: Path) -> None:
    called = engine("simulate", scenario, "--policy", "fcfs, edf,fcfs", "--json")
    assert [one["policy"] for one in called.json()["policies"]] == ["fcfs", "edf"]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_no_name_is_cut_off(
    engine: Command, scenario: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surplus.engine.cli.output.WIDTH", columns)
    names = "fcfs,veltair_compilation_only,veltair_scheduling_only"
    called = engine("simulate", scenario, "--policy", names)
    assert "…" not in called.out
    assert max(map(len, called.out.splitlines())) <= columns
    if columns == 100:
        assert "veltair_compilation_only" in called.out


def test_wrong_loads(engine: Command, scenario: Path) -> None:
    called = engine("simulate", scenario, "--loads", "1,x")
    assert "--loads: expected factors > 0, got 'x'" in called.err
