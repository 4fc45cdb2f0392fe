"""``engine run --explain``: tables, JSON and a trace that agree with each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import DEVICES, Command

WIDTH = 100


@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2", DEVICES])
def test_parts_add_up(engine: Command, devices: str) -> None:
    words = ("--devices", devices, "--repeat", "3", "--explain", "--json")
    found = engine("run", engine.path("fork_join.onnx"), *words).json()["explain"]
    assert sum(row["ns"] for row in found["parts"]) == found["total_ns"] > 0
    assert sum(row["predicted_ns"] for row in found["parts"]) == found["predicted_ns"] > 0
    assert sum(row["mean_share"] for row in found["parts"]) == pytest.approx(1)
    assert found["shortest_ns"] <= found["total_ns"] <= found["longest_ns"]
    assert found["runs"] == 3
    lanes = [(row["resource"], row["lane"]) for row in found["lanes"] if row["lane"] is not None]
    cpu, *gpu = devices.split(",")
    assert lanes == [*(("cpu", i) for i in range(int(cpu[-1]))), *((name, 0) for name in gpu)]
    assert all(row["busy_ns"] + row["idle_ns"] == found["total_ns"] for row in found["lanes"])


def test_the_path_names_operators(engine: Command) -> None:
    words = ("--devices", "cpu:1", "--repeat", "1", "--explain", "--json")
    found = engine("run", engine.path("lenet.onnx"), *words).json()["explain"]
    operators: dict[str, int] = {}
    for step in found["path"]:
        for kind, count in step["operators"].items():
            operators[kind] = operators.get(kind, 0) + count
    assert operators["Conv"] == 2
    path_ns = sum(step["work_ns"] for step in found["path"])
    assert path_ns == sum(r["ns"] for r in found["parts"] if r["category"] in ("service", "copy"))


def test_tables_fit(engine: Command) -> None:
    words = ("--devices", DEVICES, "--repeat", "2", "--explain")
    called = engine("run", engine.path("fork_join.onnx"), *words)
    assert (called.status, called.err) == (0, "")
    assert max(map(len, called.out.splitlines())) <= WIDTH
    assert "…" not in called.out
    for text in ("median of 2 traced runs", "service", "submission", "python in", "100.0 %",
                 "Predicted and measured", "critical path", "operators", "busy"):  # fmt: skip
        assert text in called.out


def test_the_trace_has_the_breakdown_of_both(engine: Command, tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    words = ("--devices", "cpu:2", "--repeat", "2", "--explain", "--trace", trace, "--json")
    found = engine("run", engine.path("fork_join.onnx"), *words).json()["explain"]
    events = json.loads(trace.read_text())["traceEvents"]
    threads = {(e["pid"], e["tid"]) for e in events if e.get("args") == {"name": "critical path"}}
    assert {process for process, _ in threads} == {1, 2}
    for process, total_ns in ((1, found["predicted_ns"]), (2, found["total_ns"])):
        rows = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) in threads]
        shown_us = sum(e["dur"] for e in rows if e["pid"] == process)
        assert shown_us == pytest.approx(total_ns / 1e3)


def test_without_explain_nothing_is_said_of_it(engine: Command) -> None:
    report = engine("run", engine.path("lenet.onnx"), "--devices", "cpu:1", "--json").json()
    assert "explain" not in report


@pytest.mark.parametrize("words", [("--explain", "--repeat", "0"), ("--explain", "yes")])
def test_wrong_usage(engine: Command, words: tuple[str, ...]) -> None:
    assert engine("run", engine.path("lenet.onnx"), *words).is_one_clear_line()
