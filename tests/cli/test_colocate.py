"""``engine colocate train`` and the scenarios that use its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from surplus.engine.cli.main import main
from tests.cli.calls import Called

HEADER = "model,start,end,bs,seq_len,model,start,end,bs,seq_len,median,mean,var"
SCENARIO = """
duration_s = 1
seed = 1
policies = ["edf_drop", "abacus"]
[[device]]
name = "gpu"
[[service]]
name = "a"
slo_ms = 60
operators = 4
profile = { kind = "affine", fixed_ns = 8000000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 70 }
[[service]]
name = "b"
slo_ms = 60
operators = 4
profile = { kind = "affine", fixed_ns = 8000000, per_item_ns = 0 }
load = { kind = "poisson", rate_per_s = 70 }
[truth]
measured = { path = "truth.npz" }
[policy_options.abacus]
predictor = { path = "mlp.npz" }
"""


Command = Callable[..., Called]


@pytest.fixture
def engine(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command without a cache of models, which these verbs do not have."""

    def call(*words: object) -> Called:
        status = main([str(word) for word in words])
        return Called(status, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of two models that cost nothing more side by side than alone."""
    path = tmp_path_factory.mktemp("samples")
    rng = np.random.default_rng(1)
    lines = [HEADER]
    for _ in range(400):
        (a, b), (c, d) = (sorted(rng.choice(5, 2, replace=False)) for _ in range(2))
        (c, d) = (c, d) if rng.integers(0, 4) else (4, 4)
        us = 2000 * max(b - a, d - c)
        lines.append(f"a,{a},{b},1,0,b,{c},{d},1,0,{us},{us},1")
    (path / "a_b.csv").write_text("\n".join(lines))
    return path


def test_models_and_truth_are_trained_and_used(
    engine: Command, folder: Path, tmp_path: Path
) -> None:
    for kind in ("mlp", "truth"):
        out = tmp_path / f"{kind}.npz"
        called = engine("colocate", "train", "--data", folder, "--kind", kind, "-o", out)
        assert called.status == 0, called.err
        assert "error on unseen" in called.out
    scenario = tmp_path / "s.toml"
    scenario.write_text(SCENARIO)
    edf, abacus = engine("simulate", scenario, "--json").json()["policies"]
    assert abacus["total"]["goodput"] > edf["total"]["goodput"] + 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--models", "a,c"), "no samples of operator groups of a, c"),
        (("--held-out", "0.001"), "leaves nothing"),
        (("--held-out", "0"), "--held-out above 0 and below 1, got 1 and 0"),
        (("--held-out", "nan"), "got 1 and nan"),
        (("--seed", "-1"), "--seed must be >= 0"),
        (("--data", "nowhere"), "nowhere: there is no such folder"),
        (("-o", "nowhere/m.npz"), "there is no folder"),
    ],
)
def test_what_cannot_be_trained_is_said(
    engine: Command, folder: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "m.npz"
    called = engine("colocate", "train", "--data", folder, "-o", out, *arguments)
    assert called.status == 1
    assert message in called.err
    assert not out.exists()


LIVE = (
    SCENARIO
    + """
[live]
devices = "cpu:1"
models = { a = "lenet", b = "lenet" }
"""
)


@pytest.mark.parametrize(
    ("before", "after", "words", "message"),
    [
        (
            "slo_ms = 60",
            "slo_ms = 60\nmax_batch = 1_000_000",
            (),
            "'a': max_batch must be 1 to 10000",
        ),
        ("operators = 4", "operators = 0", (), "service 'a': operators must be 1 to"),
        ('name = "gpu"', 'name = "gpu"\nlanes = -1', (), "device 'gpu': lanes must be 1 to 100"),
        ("seed = 1", "seed = 1", ("--rounds", "0"), "rounds must be 1 to 100000, got 0"),
        ("seed = 1", "seed = 1", ("--rounds", str(10**20)), "rounds must be 1 to 100000"),
    ],
)
def test_what_cannot_be_measured_is_said(
    engine: Command,
    tmp_path: Path,
    before: str,
    after: str,
    words: tuple[str, ...],
    message: str,
) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(LIVE.replace(before, after, 1))
    cache = ("--cache", tmp_path / "cache")
    called = engine("colocate", "profile", scenario, "-o", tmp_path / "p.json", *words, *cache)
    assert message in called.err
    assert called.is_one_clear_line(), called
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--together", "3"), "3 models side by side, the scenario has 2"),
        (("--groups", "0"), "groups must be 1 to 1000000, got 0"),
        (("--repeats", str(10**20)), "repeats must be 1 to 1000000"),
        (("--seed", "-1"), "seed must be >= 0, got -1"),
    ],
)
def test_what_cannot_be_sampled_is_said(
    engine: Command, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(LIVE)
    called = engine("colocate", "sample", scenario, "-o", tmp_path / "samples", *words)
    assert message in called.err
    assert called.is_one_clear_line(), called


def test_a_truth_of_other_services_is_refused(
    engine: Command, folder: Path, tmp_path: Path
) -> None:
    for kind in ("linear", "truth"):
        name = {"linear": "mlp"}.get(kind, kind)
        out = tmp_path / f"{name}.npz"
        engine("colocate", "train", "--data", folder, "--kind", kind, "-o", out)
    scenario = tmp_path / "s.toml"
    scenario.write_text(SCENARIO.replace('name = "b"', 'name = "c"'))
    called = engine("simulate", scenario)
    assert called.status == 1
    assert "service 'c' was not sampled; there are: a, b" in called.err
