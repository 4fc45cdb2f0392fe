"""Each verb does what its help says, on small models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from surplus.engine.cli.run_report import emulation_note
from surplus.engine.kernels.registry import installed
from surplus.placement import Problem, policy_names
from surplus.placement.stored_schedule_check import stored_faults
from tests.cli.calls import DEVICES, Command

WIDTH = 100
PAPER = ["single", "qd_all", "qd", "sd", "comm_sd"]


def test_inspect(engine: Command) -> None:
    found = engine("inspect", engine.path("lenet.onnx"), "--json").json()
    assert (found["tasks"], found["edges"], found["widest_level"]) == (12, 11, 1)
    assert found["operators"]["Conv"] == 2
    table = engine("inspect", engine.path("lenet.onnx"))
    assert table.status == 0
    assert "antichain" in table.out


def test_inspect_of_a_wide_model(engine: Command) -> None:
    found = engine("inspect", engine.path("fork_join.onnx"), "--json").json()
    assert found["antichain"] == found["widest_level"] == 4


def test_profile(engine: Command, tmp_path: Path) -> None:
    out = tmp_path / "P.json"
    called = engine("profile", engine.path("lenet.onnx"), "--devices", DEVICES, "-o", out, "--json")
    assert {row["operator"] for row in called.json()} >= {"Conv", "Gemm"}
    profile = json.loads(out.read_text())
    assert [device["name"] for device in profile["devices"]] == ["cpu", "emulated:gpu"]
    assert len(profile["tasks"]) == 12


@pytest.mark.skipif("openvino" not in installed(), reason="the wheel openvino is not installed")
def test_places_by_the_times_of_the_fastest_kernels(engine: Command, tmp_path: Path) -> None:
    out, path = tmp_path / "P.json", engine.path("lenet.onnx")
    asked = ("--devices", DEVICES, "--kernels", "openvino")
    assert engine("profile", path, *asked, "-o", out).status == 0
    (library,) = json.loads(out.read_text())["libraries"]
    library["times"]["cpu"] = dict.fromkeys(library["times"]["cpu"], [0] * 12)  # all are faster
    out.write_text(json.dumps(json.loads(out.read_text()) | {"libraries": [library]}))
    placed = engine("place", path, "--profile", out)
    assert "OpenVINO's kernels for 12 of 12 tasks" in placed.err
    assert "12 of 12" not in engine("place", path, "--profile", out, "--kernels", "onnxruntime").err
    refused = engine("optimum", path, "--profile", out, "--kernels", "cudnn")
    assert refused.status != 0
    assert "kernels 'cudnn': the profile has times of onnxruntime, openvino" in refused.err


def test_profile_with_a_dimension(engine: Command, tmp_path: Path) -> None:
    """It counts, although a file of inputs lies beside the model."""
    out = tmp_path / "P.json"
    path = engine.path("lenet.onnx")
    called = engine("profile", path, "--devices", "cpu:1", "--dim", "batch=3", "-o", out)
    assert called.status == 0
    assert json.loads(out.read_text())["tensors"]["image"]["shape"] == [3, 1, 28, 28]


@pytest.mark.parametrize("policy", policy_names())
def test_place_under_every_policy(engine: Command, policy: str, tmp_path: Path) -> None:
    out = tmp_path / "F.json"
    called = engine(
        "place", engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"),
        "--policy", policy, "-o", out, "--json",
    )  # fmt: skip
    document = called.json()
    named = [row["policy"] for row in document["policies"]]
    assert named[:5] == PAPER
    assert policy in named
    assert all(r["makespan_ns"] >= document["lower_bound_ns"] for r in document["policies"])
    assert document["makespan_ns"] >= document["bound_ns"]
    written = json.loads(out.read_text())
    assert written["policy"] == policy
    assert {device for device, _ in written["tasks"].values()} <= {"cpu", "emulated:gpu"}


@pytest.mark.parametrize("verb", ["place", "optimum"])
def test_a_bound_above_a_plan_is_an_internal_error(
    engine: Command, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surplus.placement.bounds.Bounds.makespan_ns", 10**15)
    called = engine(verb, engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"))
    assert (called.status, called.out) == (70, "")
    assert "000000000000000 ns is above a plan of " in called.err  # the optimum sums up blocks


@pytest.mark.parametrize("verb", ["place", "optimum"])
def test_what_is_printed_is_checked_from_its_problem_alone(
    engine: Command, verb: str, tmp_path: Path
) -> None:
    written = tmp_path / "problem.json"
    called = engine(
        verb, engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"),
        "--problem", written, "--json", *(["--time", "2"] if verb == "optimum" else []),
    )  # fmt: skip
    problem = Problem.from_json(written.read_text())
    assert stored_faults(problem, called.out) == []
    assert len(called.json()["tasks"]) == len(problem.tasks)


def test_place_for_what_most_queries_take_under_noise(engine: Command) -> None:
    files = (engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"))
    asked = (*files, "--noise", "0.4", "--json")
    plain, robust = (engine("place", *asked, *more).json() for more in ((), ("--objective", "p95")))
    assert robust["policy"] == "robust"
    for found in (plain, robust):
        noise = found["under_noise"]
        assert noise["p50_ns"] <= noise["p95_ns"] <= noise["p99_ns"]
    assert "under_noise" not in engine("place", *files, "--noise", "0", "--json").json()
    assert "under 20% noise, 50 samples: " in engine("place", *files).out
    assert engine("place", *files, "--noise", "2").is_one_clear_line()


def test_place_goes_on_by_annealing(engine: Command, tmp_path: Path) -> None:
    out = tmp_path / "F.json"
    files = (engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"))
    found = engine("place", *files, "--policy", "heft", "--time", "0.1", "--json", "-o", out).json()
    rows = {row["policy"]: row for row in found["policies"]}
    assert found["policy"] == json.loads(out.read_text())["policy"] == "anneal"
    assert rows["anneal"]["makespan_ns"] == found["makespan_ns"] <= rows["heft"]["makespan_ns"]
    gap = (found["makespan_ns"] - found["bound_ns"]) / found["makespan_ns"]
    assert found["gap"] == pytest.approx(gap)
    shown = engine("place", *files, "--time", "0.1").out
    assert (
        f"anneal: proven to be within {100 * rows['anneal']['gap']:.1f} % of the optimum" in shown
    )
    assert "auto: proven to be within" in engine("place", *files).out


@pytest.mark.parametrize("time", ["-1", "nan", "inf"])
def test_a_time_that_is_none_is_refused(engine: Command, time: str) -> None:
    files = (engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"))
    refused = engine("place", *files, "--time", time)
    assert refused.is_one_clear_line()
    assert f"--time must be >= 0 seconds, got {time}" in refused.err


def test_place_within_a_limit_of_memory(engine: Command) -> None:
    files = (engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"))
    free = engine("place", *files, "--policy", "best", "--json").json()["policies"]
    tight = engine("place", *files, "--policy", "best", "--gpu-memory", "20kB", "--json").json()
    assert max(row["devices"][1]["memory_bytes"] for row in free) > 20_000
    assert all(row["devices"][1]["memory_bytes"] <= 20_000 for row in tight["policies"])
    refused = engine("place", *files, "--gpu-memory", "20 gb")
    assert refused.is_one_clear_line()
    assert "size '20 gb' is not understood" in refused.err


def test_optimum_within_a_limit_of_memory(engine: Command) -> None:
    files = ("--profile", engine.path("lenet-P.json"), "--time", "3", "--gpu-memory", "20kB")
    result = engine("optimum", engine.path("lenet.onnx"), *files, "--json").json()
    assert result["status"] in ("optimal", "feasible")


def test_optimum_leaves_out_what_it_has_no_memory_for(
    engine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever pytest holds: of the limit this leaves room for neither windows nor a solver.
    monkeypatch.setattr("surplus.milp.memory_limit.resident_bytes", lambda: 1 << 30)
    files = ("--profile", engine.path("fork_join-P.json"), "--time", "5", "--json")
    result = engine("optimum", engine.path("fork_join.onnx"), *files, "--memory", "1025MiB").json()
    assert "left out: windows of tasks takes about" in result["message"]
    assert result["bound_ns"] <= result["makespan_ns"]


def test_place_prints_tables_that_fit(engine: Command) -> None:
    called = engine(
        "place", engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"), "--all"
    )
    assert called.status == 0
    assert max(map(len, called.out.splitlines())) <= WIDTH
    assert "…" not in called.out
    for text in (*policy_names(), "tasks moved", "queueing", "service", "use %", "lower bound"):
        assert text in called.out
    assert all(f"Table {number}" in called.out for number in (1, 2, 3))


@pytest.mark.parametrize(("suffix", "start"), [("html", b"<!"), ("png", b"\x89PNG")])
def test_gantt_charts(engine: Command, suffix: str, start: bytes, tmp_path: Path) -> None:
    chart = tmp_path / f"g.{suffix}"
    files = ("--profile", engine.path("fork_join-P.json"), "--gantt", chart)
    assert engine("place", engine.path("fork_join.onnx"), *files).status == 0
    assert chart.read_bytes().lower().startswith(start.lower())


def test_optimum(engine: Command, tmp_path: Path) -> None:
    out, problem = tmp_path / "F.json", tmp_path / "problem.json"
    called = engine(
        "optimum", engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"),
        "--time", "3", "-o", out, "--problem", problem, "--gantt", tmp_path / "g.html", "--json",
        "--plot", tmp_path / "gap.svg",
    )  # fmt: skip
    result = called.json()
    assert "<svg" in (tmp_path / "gap.svg").read_text()
    assert result["progress"][-1]["bound_ns"] == result["bound_ns"]
    assert result["bound_ns"] <= result["makespan_ns"]
    assert json.loads(out.read_text())["model"]
    alone = subprocess.run(
        [sys.executable, "-m", "milp", str(problem), "--time", "3", "--json"],
        capture_output=True,
        text=True,
    )
    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout)["bound_ns"] > 0


def test_optimum_table(engine: Command) -> None:
    # It ends with the proof: the limit is for a busy machine.
    files = ("--profile", engine.path("lenet-P.json"), "--time", "60")
    called = engine("optimum", engine.path("lenet.onnx"), *files)
    for text in ("optimal", "makespan", "bound", "gap"):
        assert text in called.out


def test_run(engine: Command) -> None:
    called = engine("run", engine.path("lenet.onnx"), "--devices", "cpu:1", "--repeat", "3")
    assert called.status == 0
    assert called.err == ""
    assert all(text in called.out for text in ("segments", "predicted", "lower bound", "median"))


def test_run_beside_onnxruntime(engine: Command) -> None:
    words = ("--devices", "cpu:2", "--repeat", "3", "--compare")
    report = engine("run", engine.path("fork_join.onnx"), *words, "--json").json()
    assert report["median_ms"] > 0
    assert report["ratio"] == pytest.approx(report["median_ms"] / report["onnxruntime_ms"])
    assert report["onnxruntime_threads"] in (1, 2, *range(3, 1025))
    assert report["largest_relative_difference"] < 1e-4
    table = engine("run", engine.path("fork_join.onnx"), *words)
    assert all(text in table.out for text in ("median", "onnxruntime", "ratio", "difference"))


def test_run_a_placement(engine: Command) -> None:
    files = ("--placement", engine.path("lenet-F.json"), "--profile", engine.path("lenet-P.json"))
    report = engine("run", engine.path("lenet.onnx"), *files, "--repeat", "2", "--json").json()
    assert report["policy"] == "auto"


def test_run_a_placement_without_a_profile(engine: Command) -> None:
    files = ("--placement", engine.path("lenet-F.json"), "--devices", DEVICES)
    assert engine("run", engine.path("lenet.onnx"), *files, "--repeat", "1", "--json").json()


def test_trace_holds_prediction_and_measurement(engine: Command, tmp_path: Path) -> None:
    trace, chart = tmp_path / "t.json", tmp_path / "g.html"
    words = ("--devices", DEVICES, "--repeat", "1", "--trace", trace, "--gantt", chart)
    assert engine("run", engine.path("fork_join.onnx"), *words).status == 0
    events = json.loads(trace.read_text())["traceEvents"]
    named = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert [name.split(":")[0] for name in named] == ["predicted", "measured"]
    spans = [e for e in events if e["ph"] == "X"]
    assert {e["pid"] for e in spans} == {1, 2}
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans)
    assert b"measured" in chart.read_bytes()


def test_fresh_leaves_stored_plans_alone(engine: Command) -> None:
    plans = sorted(engine.path("cache").glob("*/plan-*.json"))
    words = ("--devices", "cpu:1", "--policy", "heft", "--fresh", "--repeat", "1")
    assert engine("run", engine.path("lenet.onnx"), *words).status == 0
    assert sorted(engine.path("cache").glob("*/plan-*.json")) == plans


def test_models_list(engine: Command) -> None:
    rows = engine("models", "list", "--json").json()
    assert {row["name"] for row in rows} >= {"lenet", "faster_rcnn", "bert_base", "dlrm"}
    table = engine("models", "list")
    assert max(map(len, table.out.splitlines())) <= WIDTH


def test_models_build(engine: Command, tmp_path: Path) -> None:
    out = tmp_path / "c.onnx"
    words = ("--param", "length=5", "--param", "kind=matmul", "--param", "size=8")
    called = engine("models", "build", "chain", *words, "-o", out)
    assert called.out.split() == [str(out), str(tmp_path / "c.npz")]
    assert engine("inspect", out, "--json").json()["operators"] == {"MatMul": 5}


def test_models_build_without_inputs(engine: Command, tmp_path: Path) -> None:
    out = tmp_path / "lenet.onnx"
    assert engine("models", "build", "lenet", "-o", out, "--no-inputs").status == 0
    assert sorted(tmp_path.iterdir()) == [out]


def test_the_installed_command() -> None:
    tool = Path(sys.executable).with_name("engine")
    done = subprocess.run([tool, "models", "list"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "lenet" in done.stdout


def test_a_reader_that_goes_away() -> None:
    command = f"{sys.executable} -m surplus.engine.cli.main models list --json | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("devices", "median_ms", "is_noted"),
    [
        ("cpu:1,emulated:gpu[h200]", 4.0, True),
        ("cpu:1,emulated:gpu[h200]", 1.2, False),
        ("cpu:1,emulated:gpu[replay]", 4.0, False),
        ("cpu:2", 4.0, False),
    ],
)
def test_an_emulated_gpus_prediction_says_what_it_is_of(
    devices: str, median_ms: float, is_noted: bool
) -> None:
    """A plan on it that is predicted to take 1 ms."""
    plan = SimpleNamespace(
        devices=["cpu", "emulated:gpu"],
        segments=[SimpleNamespace(device=1)],
        predicted=SimpleNamespace(makespan_ns=1_000_000),
    )
    note = emulation_note(plan, devices, median_ms)  # type: ignore[arg-type]
    assert ("computes with this CPU's kernels" in note) is is_noted
    assert bool(note) is is_noted
