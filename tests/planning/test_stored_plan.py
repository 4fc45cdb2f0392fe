from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.plugins import read_plugin
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.plan_question import PlanQuestion, question_of
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import StoredPlan, plan_path, read_plan, write_plan
from surplus.engine.runtime.stacks import RowsTime, StackedShape, Stacks
from surplus.engine.segmentation.plan import Plan
from tests.constant_costs import constant_problem, scattered_plan
from tests.fakes.plugin import fake_plugin
from tests.pipeline.subject import Subject

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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.pop("copies"), "plan: object missing required field `copies`"),
        (lambda raw: raw.update(devices="cpu"), "plan.devices: expected `array`, got `str`"),
        (lambda raw: raw["segments"][0].update(width="1"), r"segments\[0\].width: expected `int`"),
        (
            lambda raw: raw["segments"][0].update(tasks=[None]),
            r"tasks\[0\]: expected `int`",
        ),
        (lambda raw: raw["predicted"]["spans"][0].update(kind="nap"), "invalid enum value 'nap'"),
    ],
)
def test_malformed_plans_name_the_field(plan: Plan, change: Any, message: str) -> None:
    raw = json.loads(plan.to_json())
    change(raw)
    with pytest.raises(PlacementError, match=message):
        Plan.from_json(json.dumps(raw))


@pytest.fixture
def question(graph: Graph) -> PlanQuestion:
    return question_of(graph, SPECS, "comm_sd", {"alpha_ns": 5}, {})


@pytest.fixture
def stored(graph: Graph, plan: Plan, question: PlanQuestion, tmp_path: Path) -> Path:
    path = tmp_path / "cache" / "plan-0123-45.json"
    path.parent.mkdir()
    assert write_plan(path, question, StoredPlan(plan, {"stopped": "by hand"}))
    return path


def test_a_bound_above_the_prediction_is_dropped(
    graph: Graph, plan: Plan, question: PlanQuestion, stored: Path
) -> None:
    makespan_ns = plan.predicted.makespan_ns
    for bound_ns, kept_ns in ((makespan_ns, makespan_ns), (makespan_ns + 1, 0)):
        assert write_plan(stored, question, StoredPlan(replace(plan, bound_ns=bound_ns)))
        found = read_plan(stored, graph, question)
        assert found is not None
        assert found.plan == replace(plan, bound_ns=kept_ns)


def test_file_round_trip(graph: Graph, plan: Plan, question: PlanQuestion, stored: Path) -> None:
    assert read_plan(stored, graph, question) == StoredPlan(plan, {"stopped": "by hand"})
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_a_plan_for_overlapping_queries_is_kept(
    graph: Graph, plan: Plan, question: PlanQuestion, stored: Path
) -> None:
    narrow = replace(plan, name="narrow")
    assert write_plan(stored, question, StoredPlan(plan, narrow_plan=narrow))
    found = read_plan(stored, graph, question)
    assert found is not None
    assert found.narrow_plan == narrow


@pytest.mark.parametrize(
    "stacks",
    [
        Stacks("it gains nothing"),
        Stacks("", (StackedShape("x", 1, (2, 3)),), (RowsTime(1, 10), RowsTime(4, 20)), 2),
    ],
)
def test_what_is_known_of_batches_is_kept(
    graph: Graph, plan: Plan, question: PlanQuestion, stored: Path, stacks: Stacks
) -> None:
    assert write_plan(stored, question, StoredPlan(plan, stacks=stacks))
    read = read_plan(stored, graph, question)
    assert read is not None
    assert read.stacks == stacks


def test_no_file(
    graph: Graph, question: PlanQuestion, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_plan(tmp_path / "plan-1-2.json", graph, question) is None
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "other"}, 'model is "other" there and'),
        ({"graph": "other"}, 'graph is "other" there and'),
        ({"runtime": "1.0.0"}, 'runtime is "1.0.0" there and'),
        ({"machine": {"cpu": "Z80", "cores": 1}}, 'machine.cpu is "Z80" there and'),
        ({"devices": ("cpu:1",)}, 'devices is ["cpu:1"] there and'),
        ({"policy": "heft"}, 'policy is "heft" there and "comm_sd" here'),
        ({"options": {"alpha_ns": 7}}, "options.alpha_ns is 7 there and 5 here"),
        ({"options": {}}, "options.alpha_ns is null there and 5 here"),
        ({"sizes": {"x": [8, 3]}}, "sizes.x is [8, 3] there and null here"),
    ],
)
def test_a_plan_of_something_else_is_refused_with_the_reason(
    graph: Graph,
    plan: Plan,
    question: PlanQuestion,
    stored: Path,
    change: dict[str, Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_plan(stored, replace(question, **change), StoredPlan(plan))
    assert read_plan(stored, graph, question) is None
    assert "is not used: made for something else" in caplog.text
    assert reason in caplog.text


def test_a_plan_of_another_machine_in_a_shared_cache_is_named(
    graph: Graph, plan: Plan, question: PlanQuestion, stored: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = replace(question, machine={"cpu": "Z80"})
    write_plan(stored, elsewhere, StoredPlan(plan))
    assert read_plan(stored.with_name("plan-0123-67.json"), graph, question) is None
    assert f"{stored} is not used" in caplog.text
    assert 'machine.cpu is "Z80" there' in caplog.text


def test_a_plan_of_another_version_in_its_own_folder_is_named(
    graph: Graph, plan: Plan, question: PlanQuestion, tmp_path: Path, caplog: Any
) -> None:
    old, new = (tmp_path / f"{graph.source_hash}-ort{v}-1" for v in ("1.0.0", "2.0.0"))
    old.mkdir()
    new.mkdir()
    write_plan(old / "plan-0-1.json", replace(question, runtime="1.0.0"), StoredPlan(plan))
    assert read_plan(new / "plan-0-2.json", graph, question) is None
    assert 'runtime is "1.0.0" there' in caplog.text


def test_any_changed_byte_is_seen(graph: Graph, question: PlanQuestion, stored: Path) -> None:
    whole = stored.read_bytes()
    for place in range(0, len(whole), 97):
        stored.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_plan(stored, graph, question) is None


def _missing(plan: Plan) -> Plan:
    return replace(plan, segments=plan.segments[1:])


def _twice(plan: Plan) -> Plan:
    return replace(plan, segments=(*plan.segments, plan.segments[0]))


def _nowhere(plan: Plan) -> Plan:
    return replace(plan, segments=(replace(plan.segments[0], device=9), *plan.segments[1:]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [(_missing, "exactly one segment"), (_twice, "exactly one"), (_nowhere, "out of range")],
)
def test_a_plan_that_does_not_fit_its_graph_is_refused(
    graph: Graph,
    plan: Plan,
    question: PlanQuestion,
    stored: Path,
    change: Any,
    reason: str,
    caplog: Any,
) -> None:
    write_plan(stored, question, StoredPlan(change(plan)))
    assert read_plan(stored, graph, question) is None
    assert reason in caplog.text


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "[" * 100_000, '{"format": "x"}'])
def test_a_sealed_file_that_is_no_plan(
    graph: Graph, question: PlanQuestion, stored: Path, text: str, caplog: Any
) -> None:
    stored.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
    assert read_plan(stored, graph, question) is None
    assert "plan: " in caplog.text


def test_a_folder_in_its_place(
    graph: Graph, plan: Plan, question: PlanQuestion, tmp_path: Path
) -> None:
    (tmp_path / "plan-1-2.json").mkdir()
    assert not write_plan(tmp_path / "plan-1-2.json", question, StoredPlan(plan))
    assert read_plan(tmp_path / "plan-1-2.json", graph, question) is None


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


def test_what_a_provider_drives_is_part_of_the_question(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURPLUS_PLUGIN_FAKE", str(fake_plugin().path))
    asked = question_of(graph, parse_devices("cpu:1,plugin:fake"), "comm_sd", {}, {})
    assert asked.machine["plugin:fake"] == read_plugin("fake").title


DYNAMIC = "sizes (float[N,4] x, float[2,2] k) => (float[N,4] y) { y = Relu(x) z = Neg(k) }"


@pytest.fixture
def dynamic(tmp_path: Path) -> Graph:
    """A model that leaves the size of one of its inputs open."""
    path = tmp_path / "sizes.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {DYNAMIC}'), path)
    return read_model(path, tmp_path / "cache")


def test_sizes_that_a_model_leaves_open_are_part_of_the_question(dynamic: Graph) -> None:
    def asked(rows: int) -> tuple[Path, dict[str, Any]]:
        inputs = {"x": np.ones((rows, 4), np.float32), "k": np.ones((2, 2), np.float32)}
        question = question_of(dynamic, SPECS, "comm_sd", {}, inputs)
        return plan_path(dynamic, SPECS, "comm_sd", {}, inputs), dict(question.sizes)

    assert asked(8)[1] == {"x": [8, 4]}
    assert asked(8) == asked(8)
    assert asked(8)[0] != asked(2)[0]
