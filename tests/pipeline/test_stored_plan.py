from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from constant_costs import constant_problem, scattered_plan
from pipeline_subject import Subject

from engine.dfg.graph import Graph
from engine.errors import PlacementError
from engine.pipeline.stages import read_model
from engine.pipeline.stored_plan import plan_path, read_plan, write_plan
from engine.profiling.devices import parse_devices
from engine.segmentation.plan import Plan

SPECS = parse_devices("cpu:1,emulated:gpu")


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def plan(graph: Graph) -> Plan:
    return scattered_plan(graph, constant_problem(graph, SPECS), seed=3)


def test_json_round_trip(plan: Plan) -> None:
    assert plan.copies
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format": "other"}', "nonsense"])
def test_malformed_json(text: str) -> None:
    with pytest.raises(PlacementError, match="plan: "):
        Plan.from_json(text)


def test_file_round_trip(graph: Graph, plan: Plan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json", graph) == plan
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_no_file(graph: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_plan(tmp_path / "plan.json", graph) is None
    assert caplog.text == ""


def test_a_plan_of_another_model(graph: Graph, plan: Plan, tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", replace(plan, source_hash="other"))
    assert read_plan(tmp_path / "plan.json", graph) is None


def test_any_changed_byte_is_seen(graph: Graph, plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, plan)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_plan(path, graph) is None


def test_a_folder_in_its_place(graph: Graph, plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "plan.json").mkdir()
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json", graph) is None


def test_paths_differ_by_question(graph: Graph) -> None:
    two = parse_devices("cpu:2")
    paths = {
        plan_path(graph, SPECS, "comm_sd", {}),
        plan_path(graph, two, "comm_sd", {}),
        plan_path(graph, SPECS, "sd", {}),
        plan_path(graph, SPECS, "comm_sd", {"alpha_ns": 1}),
    }
    assert len(paths) == 4
    options = {"alpha_ns": 1, "order": "rank"}
    turned = dict(reversed(options.items()))
    assert plan_path(graph, two, "sd", options) == plan_path(graph, two, "sd", turned)
