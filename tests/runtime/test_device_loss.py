"""A model whose device is lost: its queries say so, later ones do what was chosen."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import close_machines, machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError, DeviceError, DeviceLostError, ExecutionError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import recovery_of
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.device_loss import LossGuard, OnDeviceLoss, Recovery
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import plan_in_turns

DEVICES = "cpu:2,emulated:gpu"
LENGTH = 12
INPUTS = models.example_inputs("chain", length=LENGTH, size=8)


@pytest.fixture(autouse=True)
def no_machines() -> None:
    """What one test has lost stays lost in the next one's machines."""
    close_machines()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost")
    return models.save(models.build("chain", length=LENGTH, size=8), folder / "chain.onnx")


@pytest.fixture(scope="module")
def graph(file: Path) -> Graph:
    return read_model(file, file.parent / "cache")


@pytest.fixture(scope="module")
def right(graph: Graph) -> np.ndarray:
    params = LoadParams(devices=DEVICES)
    plan = plan_in_turns(graph, params.specs())
    return PlannedModel(graph, plan, machine_for(params.specs())).run(INPUTS)["y"]


def losing(graph: Graph, choice: str, lose_at: int = LENGTH // 2 + 3) -> PlannedModel:
    """By default its second query loses the device."""
    emulation = EmulationParams(lose_at=lose_at)
    params = LoadParams(devices=DEVICES, on_device_loss=choice, emulation=emulation)
    machine = machine_for(params.specs(), emulation)
    return PlannedModel(
        graph, plan_in_turns(graph, params.specs()), machine, recovery=recovery_of(params)
    )


def submitted(model: PlannedModel, inputs: Any) -> Any:
    return model.submit(inputs).result()


def inferred(model: PlannedModel, inputs: Any) -> Any:
    return asyncio.run(model.infer(inputs))


def lose(model: PlannedModel, right: np.ndarray) -> None:
    np.testing.assert_array_equal(model.run(INPUTS)["y"], right)
    with pytest.raises(ExecutionError, match=r"'emulated:gpu' is lost"):
        model.run(INPUTS)


def test_every_later_query_fails_unless_something_else_is_chosen(
    graph: Graph, right: np.ndarray
) -> None:
    model = losing(graph, "fail")
    lose(model, right)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="is lost"):
            model.run(INPUTS)


def test_queries_go_on_with_the_cpu(
    graph: Graph, right: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    model = losing(graph, "cpu")
    lose(model, right)
    for _ in range(20):
        np.testing.assert_array_equal(model.run(INPUTS)["y"], right)
    assert model.plan.devices == ("cpu",)
    assert model.plan.copies == ()
    assert model.lanes == {"cpu": 2}
    assert caplog.text.count("queries go on with cpu") == 1


def test_queries_go_on_with_the_device_opened_again(graph: Graph, right: np.ndarray) -> None:
    model = losing(graph, "recreate")
    for _ in range(3):  # it loses each of them at its second query
        lose(model, right)
        assert model.plan.devices == ("cpu", "emulated:gpu")


def test_what_was_traced_before_the_loss_is_told_by_its_own_plan(
    graph: Graph, right: np.ndarray
) -> None:
    model = losing(graph, "cpu", lose_at=LENGTH + 3)
    future = model.submit(INPUTS, traced=True)
    future.result()
    model.run(INPUTS, traced=True)
    with pytest.raises(ExecutionError, match="is lost"):
        model.run(INPUTS)
    np.testing.assert_array_equal(model.run(INPUTS)["y"], right)
    assert model.plan.devices == ("cpu",)
    for told in (model, future):
        resources = {span.resource for span in told.timeline()}
        assert {"cpu", "emulated:gpu", "host->emulated:gpu"} <= resources
        assert told.breakdown().total_ns > 0


def test_all_models_of_a_lost_machine_go_on(graph: Graph, right: np.ndarray) -> None:
    first, second = (losing(graph, "recreate", lose_at=LENGTH + 3) for _ in range(2))
    np.testing.assert_array_equal(second.run(INPUTS)["y"], right)
    lose(first, right)
    np.testing.assert_array_equal(first.run(INPUTS)["y"], right)
    np.testing.assert_array_equal(second.submit(INPUTS).result()["y"], right)


@pytest.mark.parametrize("ask", [PlannedModel.run, submitted, inferred])
def test_a_query_that_finds_its_machine_closed_goes_on(
    graph: Graph, right: np.ndarray, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any]
) -> None:
    """Another model recovers between a query's look at the devices and its start."""
    first, second = (losing(graph, "recreate", lose_at=LENGTH + 3) for _ in range(2))
    np.testing.assert_array_equal(second.run(INPUTS)["y"], right)
    lose(first, right)
    np.testing.assert_array_equal(first.run(INPUTS)["y"], right)
    looks = iter([False])
    is_due = LossGuard.is_due.fget
    late = property(lambda guard: next(looks, True) and is_due(guard))
    monkeypatch.setattr(LossGuard, "is_due", late)
    np.testing.assert_array_equal(ask(second, INPUTS)["y"], right)


def test_what_does_without_the_lost_device_is_not_cancelled(
    graph: Graph, right: np.ndarray
) -> None:
    model = losing(graph, "recreate")
    lose(model, right)
    builder = _core.PlanBuilder(model._machine)
    builder.add_work("on the CPU", 0, spin_ns=20_000_000)
    run = builder.build().submit([])
    np.testing.assert_array_equal(model.run(INPUTS)["y"], right)
    assert run.status == "ok"


def test_an_event_loop_waits_for_the_recovery(graph: Graph, right: np.ndarray) -> None:
    model = losing(graph, "cpu")
    lose(model, right)
    np.testing.assert_array_equal(asyncio.run(model.infer(INPUTS))["y"], right)


def test_a_device_that_cannot_be_opened_again_is_gone_without(
    graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    def opened(names: Sequence[str]) -> _core.Machine:
        if len(names) > 1:
            raise RuntimeError("cudaSetDevice failed")
        return cpu

    plan = plan_in_turns(graph, LoadParams(devices=DEVICES).specs())
    cpu = machine_for(LoadParams(devices="cpu:2").specs())
    recovery = Recovery(OnDeviceLoss.RECREATE, opened, {})
    ((following, machine),) = recovery.ways(plan, {"emulated:gpu"})
    assert machine is cpu
    assert following.devices == ("cpu",)
    assert "cannot be opened again: cudaSetDevice failed" in caplog.text
    with pytest.raises(DeviceError, match="is lost"):
        list(recovery._replace(choice=OnDeviceLoss.FAIL).ways(plan, {"emulated:gpu"}))


def test_a_device_on_which_nothing_opens_again_is_gone_without(
    graph: Graph, right: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    """What it was opened for is refused: sessions of a GPU that is lost again, say."""
    params = LoadParams(devices=DEVICES)
    emulation = EmulationParams(lose_at=LENGTH // 2 + 3)
    refusing = machine_for(params.specs(), EmulationParams(fail_prepare=True))
    cpu = machine_for(LoadParams(devices="cpu:2").specs())
    recovery = Recovery(
        OnDeviceLoss.RECREATE, lambda names: refusing if len(names) > 1 else cpu, {}
    )
    machine = machine_for(params.specs(), emulation)
    model = PlannedModel(graph, plan_in_turns(graph, params.specs()), machine, recovery=recovery)
    lose(model, right)
    np.testing.assert_array_equal(model.run(INPUTS)["y"], right)
    assert model.plan.devices == ("cpu",)
    assert "cpu, emulated:gpu cannot be gone on with" in caplog.text


def test_a_device_that_loading_loses_is_treated_as_was_chosen(
    file: Path, right: np.ndarray
) -> None:
    def loaded(choice: str) -> PlannedModel:
        emulation = EmulationParams(lose_at=2)
        where = file.parent / f"cache of {choice}"
        return load_planned(
            file, DEVICES, "single", cache=where, on_device_loss=choice, emulation=emulation
        )

    told = r"'emulated:gpu' is lost .*, while plans were compared"
    with pytest.raises(DeviceLostError, match=told):
        loaded("fail")
    for choice in ("cpu", "recreate"):  # opened again, it is lost again
        model = loaded(choice)
        assert model.plan.devices == ("cpu",)
        np.testing.assert_allclose(model.run(INPUTS)["y"], right, rtol=1e-6)


def test_only_the_first_query_recovers(graph: Graph) -> None:
    calls: list[Any] = []
    lost = machine_for(LoadParams(devices="cpu:1").specs(), EmulationParams(fail_every=7))
    lost.close()
    cpu = machine_for(LoadParams(devices="cpu:2").specs())
    guard = LossGuard(lost, Recovery(OnDeviceLoss.CPU, lambda names: cpu, {}))
    plan = plan_in_turns(graph, LoadParams(devices=DEVICES).specs())
    for _ in range(2):
        guard.recover(plan, lambda plan, machine: calls.append((plan, machine)))
    assert len(calls) == 1
    assert calls[0][1] is cpu


def test_a_guarded_model_goes_with_its_last_reference(graph: Graph) -> None:
    model = losing(graph, "cpu")
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ConfigError, match="fail, recreate, cpu, got 'ignore'"):
        LoadParams(on_device_loss="ignore")


def test_a_loaded_model_has_the_choice(file: Path) -> None:
    model = load_planned(file, DEVICES, cache=file.parent / "cache", on_device_loss="cpu")
    assert model._guard is not None
    plain = load_planned(file, "cpu:2", cache=file.parent / "cache", on_device_loss="cpu")
    assert plain._guard is None
