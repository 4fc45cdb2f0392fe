"""Scenario files: what is read, what is refused, and the command over them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from surplus.colocation import compare, policy_names, read_scenario
from surplus.colocation.results.timeline import timeline_of
from surplus.engine.cli.main import main

CONFIGS = Path(__file__).parents[2] / "bench/configs/colocation"

TEXT = """
duration_s = 2
seed = 1
policies = ["fcfs", "edf_drop"]
[[device]]
name = "gpu0"
[[service]]
name = "a"
slo_ms = 20
max_batch = 4
profile = { kind = "affine", fixed_ns = 4_000_000, per_item_ns = 1_000_000 }
load = { kind = "poisson", rate_per_s = 50 }
[[service]]
name = "b"
slo_ms = 40
items = [1, 2]
profile = { kind = "table", items = [1, 2], ms = { 100 = [9, 12] } }
load = { kind = "uniform", rate_per_s = 20 }
[truth]
noise = { kind = "lognormal", spread = 0.1 }
"""

WHOLE_ONLY = 'kind = "table", items = [1, 2], ms = { 100 = [9, 12] }'
ANY_SHARE = TEXT.replace(
    WHOLE_ONLY, 'kind = "affine", fixed_ns = 6_000_000, per_item_ns = 3_000_000'
)


@pytest.fixture
def scenario_path(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def any_share_path(tmp_path: Path) -> Path:
    """The same with a profile of all shares, as some policies need it."""
    path = tmp_path / "any_share.toml"
    path.write_text(ANY_SHARE)
    return path


def test_every_policy_runs_the_same_queries(any_share_path: Path) -> None:
    load, compared = compare(read_scenario(any_share_path), policy_names())
    assert {one.summary.total.offered for one in compared} == {len(load)}
    assert [one.summary.policy for one in compared] == policy_names()
    assert set(load.items[load.service == 1]) == {1, 2}


def test_a_service_keeps_its_queries_when_others_come(scenario_path: Path) -> None:
    before = read_scenario(scenario_path).load()
    extra = TEXT.split("[[service]]")[1].replace('"a"', '"c"')
    scenario_path.write_text(TEXT.replace("[[service]]", f"[[service]]{extra}[[service]]", 1))
    after = read_scenario(scenario_path).load()
    for name in ("arrival_ns", "items"):
        for old, new in ((0, 1), (1, 2)):
            own = getattr(before, name)[before.service == old]
            assert (own == getattr(after, name)[after.service == new]).all()


WRONG = [
    ("seed = 1", "sead = 1", "small.toml: object missing required field `seed`"),
    ("seed = 1", "seed = 1\nfoo = 2", "field 'foo' is unknown"),
    ("seed = 1", "seed = true", "seed: expected `int`, got `bool`"),
    ("duration_s = 2", "duration_s = 0", "duration_s: expected `float` >= 1e-09"),
    ("duration_s = 2", "duration_s = nan", "duration_s must be finite, got nan"),
    ("duration_s = 2", "duration_s = ", "line 2"),
    ("duration_s = 2", "duration_s = 1e18", "duration_s: expected `float` < 4611686018"),
    ("duration_s = 2", f"duration_s = {10**400}", "duration_s must be below 2^62"),
    ("duration_s = 2", "duration_s = 1e9", "'a': a load of 5e+10 queries; the most are 20000000"),
    ("duration_s = 2", f"duration_s = {'[' * 5000}", "maximum recursion depth"),
    ("rate_per_s = 50", "rate_per_s = 1e12", "service 'a': a load of 2e+12 queries"),
    ("max_batch = 4", "max_batch = 1_000_000", "max_batch must be 1 to 10000"),
    ("slo_ms = 20", f"slo_ms = 20\nmemory_bytes = {10**30}", "memory_bytes must be below 2^62"),
    ('"edf_drop"', '"magic"', "unknown policy 'magic'; there are: fcfs"),
    ('["fcfs", "edf_drop"]', "[]", "policies: expected `array` of length >= 1"),
    ('name = "b"', 'name = "a"', "service 'a' occurs twice"),
    ("slo_ms = 20", "slo_ms = -1", "service[0].slo_ms: expected `float` >= 1e-06"),
    ("slo_ms = 20", "slo_ms = 4", "service 'a' takes 5 ms alone, 1 ms more than its target"),
    ("slo_ms = 20", "slo_ms = 20\nbatch = 1", "service[0]: field 'batch' is unknown"),
    ("items = [1, 2]\n", "items = [1, 0]\n", "service[1].items[1]: expected `int` >= 1"),
    ("items = [1, 2]\n", "items = [3]\n", "service 'b': no time for a batch of 3"),
    ("items = [1, 2]\n", "items = [3]\nmax_batch = 2\n", "do not fit max_batch 2"),
    ('kind = "uniform"', 'kind = "sometimes"', "service 'b', load: unknown arrivals 'sometimes'"),
    ("rate_per_s = 20", "rate = 20", "service 'b', load: arrivals 'uniform'"),
    ("fixed_ns = 4_000_000", 'fixed_ns = "4"', "service 'a', profile: profile 'affine'"),
    ('kind = "affine", ', "", "service 'a', profile: kind is missing"),
    ("fixed_ns = 4_000_000", "fixed_ns = nan", "fixed_ns must be finite, got nan"),
    ("spread = 0.1", "spread = -1", "spread must be 0 to 100"),
    ("spread = 0.1", "spread = [1]", "spread: expected `float | null`, got `array`, [1]"),
    ("[truth]", "[truth]\noverlap = 2", "overlap must be >= 0 and < 1"),
    ("[truth]", '[truth]\ninterference = { kind = "pairwise", extra = { z = {} } }', "service 'z'"),
    ('[[device]]\nname = "gpu0"', "device = []", "device: expected `array` of length >= 1"),
    ('name = "gpu0"', 'name = "gpu0"\n[[device]]\nname = "gpu0"', "device 'gpu0' occurs twice"),
    ('name = "gpu0"', "name = 5", "small.toml: device[0].name: expected `str`, got `int`"),
    ("max_batch = 4", "max_batch = {}", "small.toml: service[0].max_batch: expected `int | null`"),
    ("rate_per_s = 50", f"rate_per_s = {10**400}", "rate_per_s must be below 2^62"),
    ("rate_per_s = 50", f"rate_per_s = {[1] * 500}", "1, 1, ..."),
    ("items = [1, 2]\n", f"items = {[0] * 500}\n", "items[0]: expected `int` >= 1"),
    ('name = "gpu0"', 'name = "gpu0"\nlanes = 2', "fcfs: service 'b' at 50 %: no time for 50 %"),
    ('name = "gpu0"', 'name = "gpu0"\nsockets = 2', "device[0]: field 'sockets' is unknown"),
    ("[truth]", "[policy_options]\nfcfs = { dorp = true }\n[truth]", "dispatcher 'fcfs'"),
    ("[truth]", "[policy_options]\nfcfs = { drop = 1 }\n[truth]", "drop: expected `bool`"),
    ("[truth]", "[policy_options]\nfcfs = { predictor = 1 }\n[truth]", "predictor must be a table"),
    ("[truth]", "[policy_options]\nnone = { drop = true }\n[truth]", "unknown policy 'none'"),
    ('kind = "affine", fixed_ns = 4_000_000, per_item_ns = 1_000_000',
     'kind = "abacus", folder = "{data}", model = "m", operators = 1', "needs the data folder"),
    ('{ kind = "poisson", rate_per_s = 50 }', '{ kind = "timestamps", path = "no.csv" }', "no.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "match"), WRONG)
def test_wrong_files_are_explained(
    scenario_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, match: str
) -> None:
    assert old in TEXT
    scenario_path.write_text(TEXT.replace(old, new, 1))
    assert main(["simulate", str(scenario_path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("engine simulate: ")
    assert match in err
    assert err.count("small.toml") <= 1
    assert len(err) < 900
    assert err.count("\n") == 1


def test_json_is_the_same_every_time(
    any_share_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> str:
        assert main(["simulate", str(any_share_path), "--json", *words]) == 0
        return capsys.readouterr().out

    first = printed("--policy", "all")
    assert first == printed("--policy", "all")
    assert first != printed("--policy", "all", "--seed", "2")
    document = json.loads(first)
    assert [row["policy"] for row in document["policies"]] == policy_names()
    total = document["policies"][0]["total"]
    ends = ("in_time", "late", "dropped", "rejected", "failed", "unfinished")
    assert sum(total[key] for key in ends) == total["offered"]
    timed = json.loads(printed("--timing"))["policies"][0]
    assert 0 < timed["decision_mean_ns"] <= timed["decision_max_ns"]


def test_tables_and_chart(
    scenario_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = tmp_path / "g.html"
    words = ["simulate", str(scenario_path), "--policy", "nexus,fcfs", "--gantt", str(chart)]
    assert main([*words, "--timing"]) == 0
    out = capsys.readouterr().out
    assert "nexus" in out
    assert "decision" in out
    assert "<svg" in chart.read_text() or "<canvas" in chart.read_text()


def test_shortfalls_are_told(scenario_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario_path.write_text(TEXT.replace("rate_per_s = 50", "rate_per_s = 5000"))
    assert main(["simulate", str(scenario_path), "--policy", "nexus"]) == 0
    assert "queries/s have no place, all 1 devices are full" in capsys.readouterr().out


def test_a_timeline_shows_the_groups_that_ended(scenario_path: Path) -> None:
    scenario = read_scenario(scenario_path)
    load, (one,) = compare(scenario, ["fcfs"])
    timeline = timeline_of(one.run, load, scenario.services, scenario.devices, 1_000_000_000)
    ends = [end for end in one.run.record.group_end_ns if end <= 1_000_000_000]
    assert len(timeline.spans) == len(ends)
    assert timeline.makespan_ns == max(ends)
    assert {span.resource for span in timeline} == {"gpu0"}


def abacus_rows(folder: Path, operators: dict[str, int]) -> None:
    """Made-up times of every model alone, in the format of Abacus's release."""
    header = ",".join(["model", "start", "end", "bs", "seq_len"] * 2 + ["median", "mean", "var"])
    rows = [
        f"{model},0,{count},{batch},{sequence},other,0,0,4,0,9000,9000,90"
        for model, count in operators.items()
        for batch in (4, 8, 16, 32)
        for sequence in ((8, 16, 32, 64) if model == "bert" else (0,))
    ]
    (folder / "made_up.csv").write_text("\n".join([header, *rows]) + "\n")


def test_the_shipped_scenarios_run(tmp_path: Path) -> None:
    pairs = sorted((CONFIGS / "abacus_pairs").glob("*.toml"))
    assert len(pairs) == 21
    counts = {"resnet50": 18, "resnet101": 35, "resnet152": 52, "inception_v3": 14}
    abacus_rows(tmp_path, counts | {"vgg16": 19, "vgg19": 22, "bert": 12})
    for path in (CONFIGS / "two_services.toml", *pairs):
        scenario = replace(read_scenario(path, tmp_path), duration_ns=400_000_000)
        load, compared = compare(scenario, ["edf_drop"])
        assert compared[0].summary.total.offered == len(load) > 5
