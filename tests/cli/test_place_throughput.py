"""``engine place --objective throughput``: what limits queries that overlap, with a proof."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.milp import SolverUnavailableError
from surplus.placement import Placement, Problem
from surplus.placement.occupancy import busiest_of
from surplus.placement.periodic import periodic_schedule
from surplus.placement.periodic_order import in_periodic_order
from tests.cli.calls import Command

ASKED = ("--objective", "throughput", "--noise", "0", "--time", "20")


def files(engine: Command) -> tuple[object, ...]:
    return (engine.path("fork_join.onnx"), "--profile", engine.path("fork_join-P.json"))


def test_every_policy_is_told_beside_the_proven_bound(engine: Command, tmp_path: Path) -> None:
    written, out = tmp_path / "problem.json", tmp_path / "F.json"
    more = ("--json", "--front", "--all", "--export-problem", written, "-o", out)
    document = engine("place", *files(engine), *ASKED, *more).json()
    found, problem = document["throughput"], Problem.from_json(written.read_text())
    rows = {row["policy"]: row for row in found["policies"]}
    assert {"single", "comm_sd", "auto", "balance"} <= set(rows)
    for row in rows.values():
        assert row["busiest"] in {d.name for d in problem.devices} | {
            f"{d.name} submission" for d in problem.devices
        } | {link.name for link in problem.links}
        assert row["load_ns"] >= row["bound_ns"] == found["bound_ns"]
        assert row["gap"] == pytest.approx(1 - row["bound_ns"] / row["load_ns"])
    assert found["load_ns"] == min(row["load_ns"] for row in rows.values())
    assert found["interval_ns"] >= found["load_ns"]
    assert found["load_ns"] <= found["front"][0]["interval_ns"] <= found["interval_ns"]
    assert found["front"][-1]["in_flight"] == 1
    placed = json.loads(out.read_text())
    assert placed["policy"] == document["policy"]
    devices = [device.name for device in problem.devices]
    order = [placed["tasks"][task.name] for task in problem.tasks]
    chosen = Placement(
        tuple(devices.index(device) for device, _ in order), tuple(rank for _, rank in order), "-"
    )
    assert busiest_of(problem, chosen) == (found["busiest"], found["load_ns"])
    assert in_periodic_order(chosen, periodic_schedule(problem, chosen)) == chosen


def test_people_read_resource_load_bound_and_gap(engine: Command) -> None:
    shown = engine("place", *files(engine), *ASKED, "--front").out
    for words in ("busiest", "load ms", "bound ms", "gap", "balance", "of the highest throughput"):
        assert words in shown
    assert "in flight, latency" in shown
    assert "latency against throughput" in shown


def test_without_a_solver_the_policies_are_compared(
    engine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SolverUnavailableError("it is not installed")

    monkeypatch.setattr("surplus.milp.throughput.search.solve_throughput", refuse)
    called = engine("place", *files(engine), *ASKED, "--json")
    found = called.json()["throughput"]
    assert found["load_ns"] == min(row["load_ns"] for row in found["policies"])
    assert "no solver searched for less: it is not installed" in called.err
    assert "front" not in found


def test_a_front_belongs_to_its_objective(engine: Command) -> None:
    called = engine("place", *files(engine), "--front")
    assert called.is_one_clear_line()
    assert "--front belongs to --objective throughput" in called.err
