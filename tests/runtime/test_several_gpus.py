"""One machine with several emulated GPUs: each its memory, its lanes, its failures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import close_machines, machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import DeviceError, DeviceLostError, ExecutionError
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import recovery_of
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from tests.constant_costs import plan_in_turns

DEVICES = "cpu:1,emulated:a:2,emulated:b:2"
LENGTH = 12
EACH = LENGTH // 3
"""Segments of a query on each device."""
INPUTS = models.example_inputs("chain", length=LENGTH, size=8)
LOSES_A = EmulationParams(device="emulated:a", lose_at=7)
"""In the second query that uses it for a third or half of its segments."""


@pytest.fixture(autouse=True)
def no_machines() -> None:
    """What one test has lost stays lost in the next one's machines."""
    close_machines()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    return models.save(models.build("chain", length=LENGTH, size=8), folder / "chain.onnx")


@pytest.fixture(scope="module")
def graph(file: Path) -> Graph:
    return read_model(file, file.parent / "cache")


@pytest.fixture(scope="module")
def right(file: Path) -> np.ndarray:
    return surplus.load(file, "cpu:1", cache=file.parent / "cache").run(INPUTS)["y"]


def plan_on(graph: Graph, *devices: str) -> Plan:
    """On some of the machine's devices in turn."""
    return plan_in_turns(graph, LoadParams(devices=DEVICES).specs(), on=devices)


def losing(
    graph: Graph, plan: Plan, choice: str, emulation: EmulationParams = LOSES_A
) -> PlannedModel:
    params = LoadParams(devices=DEVICES, on_device_loss=choice, emulation=emulation)
    machine = machine_for(params.specs(), emulation)
    return PlannedModel(graph, plan, machine, recovery=recovery_of(params))


def executed(machine: _core.Machine) -> dict[str, int]:
    return {row["name"]: row["executed"] for row in machine.stats()["devices"]}


def test_a_query_passes_from_one_to_the_other(graph: Graph, right: np.ndarray) -> None:
    machine = machine_for(LoadParams(devices=DEVICES).specs())
    model = PlannedModel(graph, plan_in_turns(graph, LoadParams(devices=DEVICES).specs()), machine)
    answer = model.run(INPUTS, traced=True)["y"]
    np.testing.assert_allclose(answer, right, rtol=1e-6)
    resources = {span.resource for span in model.timeline()}
    assert {"host->emulated:a", "emulated:a->emulated:b", "emulated:b->host"} <= resources
    assert executed(machine) == {"cpu": EACH, "emulated:a": EACH, "emulated:b": EACH}


def test_each_has_its_own_memory(graph: Graph, right: np.ndarray) -> None:
    tight = EmulationParams(device="emulated:a", memory_bytes=8)
    machine = machine_for(LoadParams(devices=DEVICES).specs(), tight)
    with pytest.raises(ExecutionError, match="emulated:a"):
        PlannedModel(graph, plan_on(graph, "cpu", "emulated:a"), machine).run(INPUTS)
    other = PlannedModel(graph, plan_on(graph, "cpu", "emulated:b"), machine)
    np.testing.assert_allclose(other.run(INPUTS)["y"], right, rtol=1e-6)


def lose(model: PlannedModel, right: np.ndarray) -> None:
    np.testing.assert_allclose(model.run(INPUTS)["y"], right, rtol=1e-6)
    with pytest.raises(ExecutionError, match="'emulated:a' is lost"):
        model.run(INPUTS)


@pytest.mark.parametrize("choice", ["fail", "cpu", "recreate"])
def test_what_does_without_the_lost_one_goes_on_as_it_was(
    graph: Graph, right: np.ndarray, choice: str
) -> None:
    """Other models of the machine that use other devices."""
    both = losing(graph, plan_on(graph, "cpu", "emulated:a", "emulated:b"), choice)
    other = losing(graph, plan_on(graph, "cpu", "emulated:b"), choice)
    before = other.plan
    lose(both, right)
    for _ in range(5):
        np.testing.assert_allclose(other.run(INPUTS)["y"], right, rtol=1e-6)
        np.testing.assert_allclose(other.submit(INPUTS).result()["y"], right, rtol=1e-6)
    assert other.plan is before
    assert other.failure == other.warning == ""
    assert ("is lost" in both.failure) == (choice == "fail")


def test_the_other_one_takes_over_from_the_lost_one(
    graph: Graph, right: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    plan = plan_on(graph, "cpu", "emulated:a", "emulated:b")
    model = losing(graph, plan, "cpu")
    lose(model, right)
    for _ in range(5):
        np.testing.assert_allclose(model.run(INPUTS)["y"], right, rtol=1e-6)
    assert model.plan.devices == ("cpu", "emulated:b")
    assert model.lanes == {"cpu": 1, "emulated:b": 2}
    assert {model.plan.devices[s.device] for s in model.plan.segments} == {"cpu", "emulated:b"}
    assert "'emulated:a' is lost" in model.warning
    assert caplog.text.count("queries go on with cpu, emulated:b") == 1
    assert executed(model._machine)["emulated:b"] == 5 * 2 * EACH


def test_all_of_them_may_be_lost_one_after_the_other(graph: Graph, right: np.ndarray) -> None:
    plan = plan_on(graph, "cpu", "emulated:a", "emulated:b")
    # a in the third query; then b
    model = losing(graph, plan, "cpu", EmulationParams(lose_at=2 * EACH + 1))
    seen = []
    for _ in range(8):
        with suppress(ExecutionError):
            np.testing.assert_allclose(model.run(INPUTS)["y"], right, rtol=1e-6)
        seen.append(model.plan.devices)
    assert list(dict.fromkeys(seen)) == [
        ("cpu", "emulated:a", "emulated:b"),
        ("cpu", "emulated:b"),
        ("cpu",),
    ]


def test_the_cpu_takes_over_where_the_other_one_is_lost_by_then(
    graph: Graph, right: np.ndarray
) -> None:
    """One model has lost b on the machine to which another one's loss of a leads."""
    twice = EmulationParams(lose_at=2 * EACH + 1)
    plan = plan_on(graph, "cpu", "emulated:a", "emulated:b")
    first = losing(graph, plan, "cpu", twice)
    while first.plan.devices != ("cpu",):
        with suppress(ExecutionError):
            first.run(INPUTS)
    second = losing(graph, plan, "cpu", EmulationParams(device="emulated:a", lose_at=2 * EACH + 1))
    params = LoadParams(devices=DEVICES, on_device_loss="cpu", emulation=twice)
    second.guard(second._machine, recovery_of(params))
    with suppress(ExecutionError):
        for _ in range(3):
            second.run(INPUTS)
    np.testing.assert_allclose(second.run(INPUTS)["y"], right, rtol=1e-6)
    assert second.plan.devices == ("cpu",)


def test_a_lost_one_is_opened_again_beside_the_others(graph: Graph, right: np.ndarray) -> None:
    plan = plan_on(graph, "cpu", "emulated:a", "emulated:b")
    model = losing(graph, plan, "recreate")
    for _ in range(3):  # each time that it is opened, its second query loses it
        lose(model, right)
        assert model.plan.devices == ("cpu", "emulated:a", "emulated:b")


def test_models_that_are_loaded_later_do_without_the_lost_one(
    file: Path, graph: Graph, right: np.ndarray
) -> None:
    plan = plan_on(graph, "cpu", "emulated:a", "emulated:b")
    lose(losing(graph, plan, "cpu"), right)
    settings: dict[str, Any] = {
        "cache": file.parent / "cache",
        "emulation": LOSES_A,
        "selection_s": 0,
    }
    with pytest.raises(DeviceLostError, match="'emulated:a' is lost"):
        surplus.load(file, DEVICES, on_device_loss="fail", **settings)
    model = surplus.load(file, DEVICES, on_device_loss="cpu", **settings)
    assert model.plan.devices == ("cpu", "emulated:b")
    np.testing.assert_allclose(model.run(INPUTS)["y"], right, rtol=1e-6)


def test_devices_of_one_name_are_refused() -> None:
    with pytest.raises(DeviceError, match="'emulated:a' appears twice"):
        LoadParams(devices="cpu:1,emulated:a:2,emulated:a:2").specs()
