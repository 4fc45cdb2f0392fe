"""Groups of operators measured on the engine, and learnt from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus.colocation.overlap.features import Layout
from surplus.colocation.overlap.training.samples import read_samples, to_csv
from surplus.engine.cli.main import main
from surplus.engine.scheduling.sample import GroupBench, SampleParams, sets_of
from tests.scheduling.stage import CHAIN, Stage

SCENARIO = """
duration_s = 1
seed = 1
policies = ["abacus"]
[[device]]
name = "cpu"
[[service]]
name = "a"
slo_ms = 100
operators = 2
profile = { kind = "affine", fixed_ns = 1000000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 10 }
[[service]]
name = "b"
slo_ms = 100
operators = 3
profile = { kind = "affine", fixed_ns = 1000000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 10 }
[live]
devices = "cpu:1"
models = { a = "chain.onnx", b = "chain.onnx" }
"""


def test_groups_run_from_where_they_begin(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [2, 3], "cpu:1", 1)
    layout = Layout(("a", "b"), (2, 3), 2)
    inputs = {"x": np.ones((1, 3), np.float32)}
    stage.backend._inputs = lambda query: inputs
    stage.backend._answer = None
    seen: list[int] = []
    params = SampleParams(groups=12, repeats=2)
    samples = GroupBench(stage.backend, layout).samples(("a", "b"), (1,), params, seen.append)
    assert (len(samples), len(seen)) == (12, 36)
    assert (samples.median_ms > 0).all()
    assert any(part.start for group in samples.groups for part in group)
    (tmp_path / "a_b.csv").write_text(to_csv(samples, ("a", "b")))
    again = read_samples(tmp_path)
    assert again.groups == samples.groups
    assert again.median_ms == pytest.approx(samples.median_ms)
    assert again.spread == pytest.approx(samples.spread)


def test_sampled_by_the_command_and_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Stage(tmp_path, [CHAIN], [2], "cpu:1", 1)
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = ["colocate", "sample", str(tmp_path / "s.toml"), "-o", str(tmp_path / "samples")]
    words += ["--groups", "6", "--repeats", "1", "--cache", str(tmp_path / "cache")]
    assert main(words) == 0
    samples = read_samples(tmp_path / "samples")
    assert samples.layout.models == ("a", "b")
    assert samples.layout.operators == (2, 3)
    capsys.readouterr()
    assert main(words) == 0
    assert "all 1 sets are there" in capsys.readouterr().out


def test_sets_are_those_of_the_scenario() -> None:
    assert sets_of(("a", "b", "c"), 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    with pytest.raises(ValueError, match="3 models side by side, the scenario has 2"):
        sets_of(("a", "b"), 3)
    with pytest.raises(ValueError, match="groups must be 1 to 1000000, got 0"):
        SampleParams(groups=0)
