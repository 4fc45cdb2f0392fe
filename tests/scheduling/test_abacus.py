"""Abacus live: groups sampled on the engine, a predictor trained on them, queries served by it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton

from surplus.engine.cli.main import main
from tests.scheduling.stage import CHAIN, chain_of, saved

WAIT_S = 120
SCENARIO = """
duration_s = 0.4
seed = 3
policies = ["abacus", "abacus_pipelined"]

[[device]]
name = "gpu"

[[service]]
name = "chain"
slo_ms = 2000
operators = 3
profile = { kind = "measured", path = "profile.json", model = "chain" }
load = { kind = "poisson", rate_per_s = 150 }

[[service]]
name = "other"
slo_ms = 2000
operators = 3
profile = { kind = "measured", path = "profile.json", model = "other" }
load = { kind = "poisson", rate_per_s = 150 }

[live]
devices = "emulated:gpu[t4,replay]:2"
models = { chain = "chain.onnx", other = "other.onnx" }

[policy_options]
abacus = { predictor = { path = "mlp.npz" } }
abacus_pipelined = { predictor = { path = "mlp.npz" } }
"""
TRUTH = '[truth]\nmeasured = { path = "truth.npz" }\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, its profile, and what was learnt from groups of its models."""
    folder = tmp_path_factory.mktemp("abacus")
    saved(CHAIN, folder)
    saved(CHAIN.replace("chain", "other"), folder)
    scenario, cache = folder / "pair.toml", ["--cache", str(folder / "cache")]
    scenario.write_text(SCENARIO.replace("mlp.npz", str(folder / "mlp.npz")))
    sample = ["sample", str(scenario), "-o", str(folder / "samples"), "--repeats", "3"]
    for words in (
        ["profile", str(scenario), "--rounds", "3", *cache],
        [*sample, "--together", "1", "--groups", "30", *cache],
        [*sample, "--together", "2", "--groups", "120", *cache],
        ["train", "--data", str(folder / "samples"), "-o", str(folder / "mlp.npz")],
        [
            *("train", "--data", str(folder / "samples"), "--kind", "truth"),
            *("-o", str(folder / "truth.npz")),
        ],
    ):
        assert main(["colocate", *words]) == 0
    scenario.write_text(scenario.read_text() + TRUTH)
    return folder


def test_the_trained_predictor_drives_the_engine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--live", "--json", "--cache", str(folder / "cache")]
    assert main(["simulate", str(folder / "pair.toml"), *words]) == 0
    document = json.loads(capsys.readouterr().out)
    for live in document["live"]:
        total = live["total"]
        assert total["failed"] == total["unfinished"] == 0
        assert total["in_time"] + total["late"] > 0
        assert total["in_time"] + total["late"] + total["dropped"] == total["offered"]


def test_a_predictor_of_other_groups_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = folder / "other.toml"
    scenario.write_text(
        (folder / "pair.toml").read_text().replace("operators = 3", "operators = 4")
    )
    assert main(["simulate", str(scenario)]) == 1
    assert "'chain' has 4 operators, was sampled with 3" in capsys.readouterr().err


def test_a_server_answers_by_it(folder: Path) -> None:
    repository = folder / "repository"
    for name in ("chain", "other"):
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "1" / "model.onnx").write_bytes((folder / f"{name}.onnx").read_bytes())
    words = ["--policy", "abacus", "--option", f"predictor.path={folder / 'mlp.npz'}"]
    words += ["--slo", "chain=10s", "--slo", "other=10s", "--devices", "emulated:gpu[t4]:2"]
    words += ["--groups", "3", "--max-batch", "1", "--port", "0", "--cache", str(folder / "cache")]

    command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(repository), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"on (\S+) \(gRPC", process.stdout.readline())
        assert found
        rows = np.random.default_rng(1).standard_normal((1, 3), np.float32)
        tensor = triton.InferInput("x", rows.shape, "FP32")
        tensor.set_data_from_numpy(rows)
        with triton.InferenceServerClient(found[1]) as client:
            for name in ("chain", "other", "chain"):
                answer = client.infer(name, [tensor])
                for output, wanted in chain_of(rows).items():
                    np.testing.assert_allclose(
                        answer.as_numpy(output), wanted, rtol=1e-3, atol=1e-4
                    )
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.communicate()
