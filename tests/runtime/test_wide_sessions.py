"""Many wide sessions are not many thread pools."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.atomic_file import write_atomic
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import available_cores, parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, whole_plan
from tests.runtime.runtime_models import read_text

SOFTMAX = """soft (float[64, 256] x) => (float[64, 256] y) {{
  t = Softmax(x)
  y = LeakyRelu<alpha = {alpha}>(t)
}}"""
INPUT = {"x": np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)}
SPECS = parse_devices("cpu:2")
MANY = 60


def thread_ids() -> set[int]:
    return {int(task.name) for task in Path("/proc/self/task").iterdir()}


def threads() -> int:
    return len(thread_ids())


def graphs(folder: Path, count: int) -> list[Graph]:
    """Different models of the same answers: what they would change is never negative."""
    made = []
    for index in range(count):
        (folder / str(index)).mkdir()
        made.append(read_text(SOFTMAX.format(alpha=(index + 1) / 1000), folder / str(index)))
    return made


def wide_model(graph: Graph) -> PlannedModel:
    plan = whole_plan(graph, constant_problem(graph, SPECS))
    segments = (replace(plan.segments[0], width=2),)
    return PlannedModel(graph, replace(plan, segments=segments), machine_for(SPECS))


def test_few_wide_models_have_a_pool_each(tmp_path: Path) -> None:
    before = _core.wide_sessions()
    models = [wide_model(graph) for graph in graphs(tmp_path, 2)]
    after = _core.wide_sessions()
    assert after["sessions"] == before["sessions"] + 2
    assert after["own_threads"] == before["own_threads"] + 2
    del models
    assert _core.wide_sessions()["own_threads"] == before["own_threads"]


@pytest.mark.skipif(available_cores() < 2, reason="needs two cores")
def test_a_pool_keeps_off_the_cpu_of_the_thread_that_it_helps(tmp_path: Path) -> None:
    machine_for(SPECS)
    before = thread_ids()
    model = wide_model(*graphs(tmp_path, 1))
    (helper,) = thread_ids() - before
    allowed = os.sched_getaffinity(0)
    try:
        for cpu in (*allowed, *allowed):
            os.sched_setaffinity(0, {cpu})
            model.run(INPUT)
            assert os.sched_getaffinity(helper) == allowed - {cpu}
    finally:
        os.sched_setaffinity(0, allowed)


def test_plans_with_the_same_segment_share_its_session(tmp_path: Path) -> None:
    (graph,) = graphs(tmp_path, 1)
    before = _core.wide_sessions()
    models = [wide_model(graph) for _ in range(3)]
    assert _core.wide_sessions()["sessions"] == before["sessions"] + 1
    answers = {model.run(INPUT)["y"].tobytes() for model in models}
    del models[:2]
    assert {model.run(INPUT)["y"].tobytes() for model in models} == answers
    models.clear()
    assert _core.wide_sessions() == before


def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    first, second = graphs(tmp_path, 2)
    before = _core.wide_sessions()["sessions"]
    models = [wide_model(first)]
    write_atomic(first.whole_path, second.whole_path.read_bytes())
    models.append(wide_model(first))
    assert _core.wide_sessions()["sessions"] == before + 2


def test_many_that_are_expected_share_one_pool_from_the_start(tmp_path: Path) -> None:
    machine_for(SPECS)
    cores = available_cores()
    before = _core.wide_sessions()["own_threads"]
    _core.expect_wide_sessions(10_000, 2)
    try:
        models = [wide_model(graph) for graph in graphs(tmp_path, cores + 1)]
        assert _core.wide_sessions()["own_threads"] <= max(before, 1, cores - 1)
        assert _core.wide_sessions()["shared_threads"] > 0
    finally:
        _core.expect_wide_sessions(0, 1)
    assert len({model.run(INPUT)["y"].tobytes() for model in models}) == 1
    with pytest.raises(ValueError, match="out of range"):
        _core.expect_wide_sessions(-1, 2)


def test_many_wide_models_share_one_pool_and_answer_the_same_bits(tmp_path: Path) -> None:
    machine_for(SPECS)
    before = threads()
    first, *others = graphs(tmp_path, MANY)
    models = [wide_model(first)]
    expected = models[0].run(INPUT)["y"].tobytes()
    models += [wide_model(graph) for graph in others]
    stats = _core.wide_sessions()
    assert stats["own_threads"] <= max(1, available_cores() - 1)
    assert threads() <= before + 2 * (available_cores() - 1)
    assert {m.run(INPUT)["y"].tobytes() for m in models} == {expected}


def test_queries_in_flight_do_not_notice_that_their_session_moves(tmp_path: Path) -> None:
    graph, *others = graphs(tmp_path, MANY)
    first = wide_model(graph)
    expected = first.run(INPUT)["y"].tobytes()
    futures = []
    models = []
    for other in others:
        futures.append(first.submit(INPUT))
        models.append(wide_model(other))
    assert {future.result()["y"].tobytes() for future in futures} == {expected}


def test_a_wide_model_that_cannot_open_leaves_no_trace(tmp_path: Path) -> None:
    (graph,) = graphs(tmp_path, 1)
    before = _core.wide_sessions()
    graph.whole_path.write_bytes(b"no model")
    with pytest.raises(ExecutionError):
        wide_model(graph)
    assert _core.wide_sessions() == before
