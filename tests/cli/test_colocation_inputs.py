"""What is wrong with services, their profiles, targets and rates: said by each verb, by how much.

A table of ``simulate``, ``capacity`` and ``serve``: unknown models, missing profile entries,
targets below the time alone, and rates that no deployment holds.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surplus import models
from surplus.engine.cli.main import main
from tests.cli.calls import Called

VERBS = ("simulate", "capacity")
SCENARIO = """
duration_s = 1
seed = 1
policies = ["edf", "gpulet"]
[[device]]
name = "gpu"
[[service]]
name = "a"
slo_ms = 40
max_batch = 4
profile = { kind = "measured", path = "profile.json", model = "a" }
load = { kind = "poisson", rate_per_s = 20 }
[[service]]
name = "b"
slo_ms = 60
profile = { kind = "measured", path = "profile.json", model = "b" }
load = { kind = "poisson", rate_per_s = 20 }
"""


def profile_of(folder: Path, *names: str, ms: float = 10.0) -> Path:
    """Each model takes ``ms`` for one item, twice that for four, alone and on half."""
    row = [ms, 2 * ms]
    one: dict[str, Any] = {"operators": 1, "items": [1, 4], "ms": {"50": row, "100": row}}
    one |= {"deviation": [0.0, 0.0], "groups_ms": []}
    rest: dict[str, Any] = {"devices": "cpu:2", "extra": {}, "machine": {}}
    document = {"format": "surplus-colocation-profile/1", "models": dict.fromkeys(names, one)}
    path = folder / "profile.json"
    path.write_text(json.dumps(document | rest))
    return path


@pytest.fixture
def engine(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: object) -> Called:
        return Called(main([str(word) for word in words]), *capsys.readouterr())

    return call


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    profile_of(tmp_path, "a", "b")
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('model = "b"', 'model = "z"', "'z' was not measured; there are: a, b"),
        ("slo_ms = 60", "slo_ms = 60\nitems = [8]", "service 'b': no time for a batch of 8"),
        ("slo_ms = 60", "slo_ms = 8", "service 'b' takes 10 ms alone, 2 ms more than"),
        ('"profile.json", model = "a"', '"gone.json", model = "a"', "gone.json"),
    ],
    ids=["unknown model", "missing batch", "target below alone", "no profile"],
)
def test_a_scenario_that_cannot_be_is_refused(
    engine: Any, scenario: Path, verb: str, before: str, after: str, message: str
) -> None:
    scenario.write_text(SCENARIO.replace(before, after))
    called = engine(verb, scenario)
    assert message in called.err
    assert called.is_one_clear_line(), called


def test_an_unknown_network_of_a_live_run_is_named(engine: Any, scenario: Path) -> None:
    live = '[live]\ndevices = "cpu:2"\nmodels = { a = "lenet", b = "none_such" }\n'
    scenario.write_text(SCENARIO + live)
    called = engine("simulate", scenario, "--live", "--cache", scenario.parent / "cache")
    assert "'none_such' is no file and no network" in called.err
    assert called.is_one_clear_line(), called


@pytest.mark.parametrize("verb", VERBS)
def test_a_rate_that_no_deployment_holds_is_said_by_how_much(
    engine: Any, scenario: Path, verb: str
) -> None:
    scenario.write_text(SCENARIO.replace("rate_per_s = 20", "rate_per_s = 900"))
    called = engine(verb, scenario, *(("--seeds", 1) if verb == "capacity" else ()))
    out = " ".join(called.out.split())
    assert called.status == 0, called.err
    assert re.search(r"no deployment holds this load: it takes at least \S+ of 1 devices \(a", out)
    if verb == "simulate":
        assert re.search(r"gpulet, b: \S+ queries/s have no place", out)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "repository"
    for name in ("a", "b"):
        (folder / name / "1").mkdir(parents=True)
        models.save(models.build("lenet"), folder / name / "1" / "model.onnx")
    return folder


def served(repository: Path, folder: Path, *words: str, policy: str = "edf") -> list[str]:
    command = ["serve", str(repository), "--policy", policy, "--devices", "cpu:2", "--port", "0"]
    command += ["--cache", str(repository.parent / "cache"), "--max-batch", "4", *words]
    known = folder / "profile.json"
    return [*command, *(("--profile", str(known)) if known.exists() else ())]


@pytest.mark.parametrize(
    ("known", "words", "policy", "message"),
    [
        ("ab", ["--slo", "a=1s", "--slo", "b=1s", "--slo", "z=1s"], "edf", "no model 'z'"),
        ("ab", ["--slo", "a=1s", "--slo", "b=1s", "--rate", "z=1"], "edf", "no model 'z'"),
        ("a", ["--slo", "a=1s", "--slo", "b=1s"], "edf", "model 'b' was not measured"),
        ("ab", ["--slo", "a=1s", "--slo", "b=8ms"], "edf", "'b' takes 10 ms alone, 2 ms more"),
        (
            "ab",
            ["--slo", "a=1s", "--slo", "b=1s", "--option", "predictor.path=gone.npz"],
            "abacus",
            "gone.npz: No such file",
        ),
        (
            "ab",
            ["--slo", "a=1s", "--slo", "b=1s", "--max-batch", "8"],
            "edf",
            "model 'a' was measured up to batches of 4, the largest is to be 8",
        ),
        (
            "ab",
            ["--slo", "a=1s", "--slo", "b=1s", "--devices", "cpu:1,emulated:gpu:4"],
            "edf",
            "model 'a': no time for 25 %: its lanes are 50 %, 100 %",
        ),
        ("ab", ["--slo", "a=1s", "--slo", "b=1s", "--shares", "20,x"], "edf", "--shares: expected"),
        ("ab", ["--slo", "a=1s", "--slo", "b=1s", "--shares", "40,20"], "edf", "must ascend"),
        ("ab", ["--slo", "a=1s", "--slo", "b=1s", "--shares", "50,100"], "edf", "only emulated"),
        (
            "ab",
            [*("--slo", "a=1s", "--slo", "b=1s"), "--devices", "emulated:gpu", "--shares", "100"],
            "edf",
            "is of lanes, partitions are to be shares of processors",
        ),
    ],
    ids=[
        *("unknown target", "unknown rate", "not measured", "target", "policy", "batch", "lanes"),
        *("no share", "unordered", "shares of a CPU", "profile of lanes"),
    ],
)
def test_what_cannot_be_served_is_said_at_the_start(
    engine: Any,
    repository: Path,
    tmp_path: Path,
    known: str,
    words: list[str],
    policy: str,
    message: str,
) -> None:
    profile_of(tmp_path, *known)
    called = engine(*served(repository, tmp_path, *words, policy=policy))
    assert message in called.err
    assert called.status == 1
    assert "Traceback" not in called.err


def test_rates_that_no_deployment_holds_are_said_and_served_as_far_as_they_go(
    repository: Path, tmp_path: Path
) -> None:
    profile_of(tmp_path, "a", "b")
    words = ["--slo", "a=100ms", "--slo", "b=1s", "--rate", "a=900", "--rate", "b=10"]
    command = served(repository, tmp_path, *words, policy="gpulet")
    process = subprocess.Popen(
        [sys.executable, "-m", "surplus.engine.cli.main", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        assert process.stdout is not None
        assert "serving a, b" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert re.search(r"^a: \S+ queries/s have no place, \S", said, re.MULTILINE), said
