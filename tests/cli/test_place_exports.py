"""``engine place`` hands over its problem and its plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.engine.dfg.onnx_reader import read
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.profile import Profile
from surplus.placement import Problem, make_policy, simulate
from tests.cli.calls import Command


@pytest.mark.parametrize("option", ["--export-problem", "--problem"])
def test_the_problem_is_exactly_what_was_placed(
    engine: Command, option: str, tmp_path: Path
) -> None:
    written, profile = tmp_path / "problem.json", engine.path("fork_join-P.json")
    called = engine(
        "place", engine.path("fork_join.onnx"), "--profile", profile,
        "--policy", "heft", option, written, "--json",
    )  # fmt: skip
    problem = Problem.from_json(written.read_text())
    graph = read(engine.path("fork_join.onnx"), engine.folder / "cache")
    assert problem == problem_of(graph, Profile.load(profile))
    assert problem.to_json() == written.read_text()
    assert problem.notes["cpu"] == "measured"
    placed = make_policy("heft").place(problem)
    assert simulate(problem, placed).makespan_ns == called.json()["makespan_ns"]


def test_widths_are_taken_from_the_profile(engine: Command, tmp_path: Path) -> None:
    written, profile = tmp_path / "problem.json", engine.path("fork_join-P.json")
    engine(
        "place", engine.path("fork_join.onnx"), "--profile", profile,
        "--widths", "--problem", written,
    )  # fmt: skip
    graph = read(engine.path("fork_join.onnx"), engine.folder / "cache")
    measured = Profile.load(profile)
    assert Problem.from_json(written.read_text()) == problem_of(graph, measured, widths=True)


def test_a_plan_for_onnx_runtime(engine: Command, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    called = engine(
        "place", engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"),
        "--policy", "qd_all", "--gpu-memory", "1GB", "--emit", "onnxruntime", folder, "--json",
    )  # fmt: skip
    document = json.loads((folder / "session_options.json").read_text())
    placed = called.json()
    assert (document["policy"], document["makespan_ns"]) == ("qd_all", placed["makespan_ns"])
    assert document["bound_ns"] == placed["bound_ns"]
    assert document["memory"]["emulated:gpu"]["limit_bytes"] == 10**9
    assert "no plan is more than" in called.err
    assert "times on the CPU" not in called.err, "it has only ONNX Runtime's kernels"
    assert all(remark in called.err for remark in document["remarks"])


def test_an_optimum_is_emitted_with_what_its_solver_proved(engine: Command, tmp_path: Path) -> None:
    called = engine(
        "optimum", engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"),
        "--time", "5", "--emit", "onnxruntime", tmp_path / "out", "--json",
    )  # fmt: skip
    document = json.loads((tmp_path / "out" / "session_options.json").read_text())
    found = called.json()
    assert document["bound_ns"] >= found["bound_ns"]
    assert document["makespan_ns"] == found["dispatched_ns"]


def test_what_cannot_be_emitted_is_refused_before_any_work(engine: Command, tmp_path: Path) -> None:
    files = (engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"))
    (tmp_path / "file").touch()
    for words, message in (
        (("tensorrt", tmp_path), "--emit 'tensorrt': there are onnxruntime"),
        (("onnxruntime", tmp_path / "file"), "file exists and is not a folder"),
        (("onnxruntime", tmp_path / "none" / "out"), "there is no folder"),
        (("onnxruntime", tmp_path, "--kernels", "openvino"), "runs its own kernels, not those of"),
    ):
        called = engine("place", *files, "--emit", *words)
        assert called.is_one_clear_line()
        assert message in called.err
