"""A GPU fails: while idle, loaded on, measured, tuned or asked; run by test_fake_gpu.py.

Each query ends with an answer or an error that names the GPU; the next one does what was chosen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus import models
from surplus.engine.devices.machines import _MACHINES, close_machines
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import DeviceLostError, ExecutionError
from surplus.engine.pipeline import first_queries
from surplus.engine.pipeline.lazy import LazyModel
from surplus.engine.pipeline.load import load_planned
from surplus.engine.pipeline.loading import load_with
from surplus.engine.pipeline.making import load_placed, tune_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.placement_file import save_placement
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.profiling import measured_gpu
from surplus.engine.profiling.link_probe import measured_links
from surplus.engine.runtime.planned_model import PlannedModel
from tests.fakes.cuda_library import FakeCuda

PARAMETERS = {"tasks": 2, "width": 8}
INPUTS = models.example_inputs("multi_task", **PARAMETERS)
DEVICES = "cpu:1,cuda:0:2"
DIVIDED = "cpu:1,cuda:0[64sm],cuda:0[32sm]"
CHOICES = ("fail", "recreate", "cpu")
AFTERWARDS = {"recreate": ("cpu", "cuda:0"), "cpu": ("cpu",)}
LOST_TEXT = "device 'cuda:0' is lost: "
LOST = f"{LOST_TEXT}.*CUDA error 700"
ILLEGAL_ADDRESS, OUT_OF_MEMORY, NOT_PERMITTED = 700, 2, 800


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return models.save(models.build("multi_task", **PARAMETERS), folder / "m.onnx")


@pytest.fixture(scope="module", autouse=True)
def short_copies() -> Iterator[None]:
    """Copies are measured each time that a GPU is, and nothing here is about how long they take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            measured_gpu,
            "measured_links",
            lambda probe, memory, staging, sizes: measured_links(
                probe, memory, staging, (64, 4096)
            ),
        )
        yield


@pytest.fixture(scope="module")
def cache(file: Path) -> Path:
    """Measurements and plans that have everything on the GPU."""
    folder = file.parent / "cache"
    for devices in (DIVIDED, DEVICES):
        FakeCuda()
        assert load(file, folder, "fail", devices).plan.segments[0].device == 1
        close_machines()
    return folder


@pytest.fixture(scope="module")
def any_size(file: Path, cache: Path) -> Path:
    """y = relu(x) of as many elements as come; its plan is stored."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "any_size", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = file.with_name("any_size.onnx")
    onnx.save(model, path)
    FakeCuda()
    load(path, cache, "fail")
    close_machines()
    return path


@pytest.fixture(scope="module")
def right(file: Path) -> dict[str, np.ndarray]:
    return load_planned(file, "cpu:1", cache=file.parent / "cache of the cpu").run(INPUTS)


@pytest.fixture
def fake() -> Iterator[FakeCuda]:
    library = FakeCuda()
    yield library
    close_machines()
    assert library.violations() == ""


def load(file: Path, cache: Path, choice: str, devices: str = DEVICES) -> PlannedModel:
    return load_planned(file, devices, "single", cache=cache, on_device_loss=choice, selection_s=0)


def check(model: PlannedModel, right: dict[str, np.ndarray]) -> None:
    answer = model.run(INPUTS)
    for name, wanted in right.items():
        np.testing.assert_allclose(answer[name], wanted, rtol=1e-5, atol=1e-6)


def check_afterwards(model: PlannedModel, choice: str, right: dict[str, np.ndarray]) -> None:
    """Queries fail, naming the GPU, or are answered where that was chosen."""
    for _ in range(2):
        if choice == "fail":
            with pytest.raises(ExecutionError, match=LOST):
                model.run(INPUTS)
        else:
            check(model, right)
            assert model.plan.devices == AFTERWARDS[choice]
    assert bool(model.failure) == (choice == "fail")
    assert ("go on with cpu" in model.warning) == (choice == "cpu")


def live_values() -> list[int]:
    return [machine.stats()["live_values"] for machine in _MACHINES.by_key.values()]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("where", "nth"), [("cudaMemcpyAsync", 1), ("execute", 3)])
def test_a_query_meets_the_loss(
    fake: FakeCuda, file: Path, cache: Path, right, where: str, nth: int, choice: str
) -> None:
    """The first call: it was lost while nothing ran."""
    model = load(file, cache, choice)
    check(model, right)
    fake.inject(where, nth, ILLEGAL_ADDRESS)
    with pytest.raises(ExecutionError, match=LOST):
        model.run(INPUTS)
    check_afterwards(model, choice, right)


@pytest.mark.parametrize("choice", CHOICES)
def test_many_queries_in_flight_all_end(
    fake: FakeCuda, file: Path, cache: Path, right, choice: str
) -> None:
    model = load(file, cache, choice)
    fake.inject("execute", 30, ILLEGAL_ADDRESS)

    def ask(_: int) -> str:
        try:
            check(model, right)
        except ExecutionError as error:
            return str(error)
        return ""

    futures = [model.submit(INPUTS) for _ in range(20)]
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(ask, range(40)))
    for future in futures:
        try:
            future.result()
            told.append("")
        except ExecutionError as error:
            told.append(str(error))
    lost = [text for text in told if text]
    assert lost
    assert all("device 'cuda:0' is lost: " in text for text in lost)
    del futures, future
    check_afterwards(model, choice, right)
    model.run(INPUTS) if choice != "fail" else None
    assert set(live_values()) == {0}


def check_loading(file: Path, params: LoadParams, progress, right, what: str) -> None:
    """A load that meets the loss while ``what``: it follows the choice, or names both."""
    choice = params.on_device_loss
    if choice == "fail":
        with pytest.raises(DeviceLostError, match=f"{LOST}.*, while {what}"):
            load_with(file, params, INPUTS, progress)
    else:
        model = load_with(file, params, INPUTS, progress)
        check(model, right)
        assert model.plan.devices == AFTERWARDS[choice]


@pytest.mark.parametrize(
    ("choice", "nth"), [("fail", 1), ("fail", 600), ("cpu", 60), ("recreate", 60)]
)
def test_measuring_meets_the_loss(
    fake: FakeCuda, file: Path, tmp_path: Path, right, choice: str, nth: int
) -> None:
    params = LoadParams(DEVICES, "single", cache=tmp_path, on_device_loss=choice, selection_s=0)
    progress = losing(fake, "profile tasks", nth)
    check_loading(file, params, progress, right, "it was measured")
    assert operators_not_run(tmp_path) == 0


@pytest.mark.parametrize("nth", [1, 60])
@pytest.mark.parametrize("choice", CHOICES)
def test_comparing_plans_meets_the_loss(
    fake: FakeCuda, file: Path, cache: Path, right, choice: str, nth: int
) -> None:
    params = LoadParams(
        DEVICES, "single", cache=cache, reuse=False, on_device_loss=choice, selection_s=0.01
    )
    progress = losing(fake, "build segments", nth)
    check_loading(file, params, progress, right, "plans were compared")


@pytest.mark.parametrize("where", ["cudaMemcpyAsync", "cudaEventRecord"])
def test_a_plan_that_meets_the_loss_when_it_is_built_ends_the_choice(
    fake: FakeCuda, file: Path, cache: Path, where: str
) -> None:
    """Of what is left the best would be kept as the best one of a machine with a GPU."""
    params = LoadParams(DEVICES, "single", cache=cache, tune_s=60.0)  # the loss ends it
    plans = set(cache.glob("*/plan-*"))

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "tune (s)":
            fake.inject(where, 1, ILLEGAL_ADDRESS)

    with pytest.raises(DeviceLostError, match=f"{LOST}.*, while the model was tuned"):
        load_with(file, params, INPUTS, progress)
    assert set(cache.glob("*/plan-*")) == plans


@pytest.mark.parametrize("choice", CHOICES)
def test_tuning_ends_with_the_loss(fake: FakeCuda, file: Path, cache: Path, choice: str) -> None:
    params = LoadParams(DEVICES, "single", cache=cache, tune_s=0.5, on_device_loss=choice)
    with pytest.raises(DeviceLostError, match=f"{LOST}.*, while the model was tuned"):
        tune_with(file, params, INPUTS, losing(fake, "tune (s)", 60))


@pytest.mark.parametrize("choice", CHOICES)
def test_loading_a_placement_ends_with_the_loss(
    fake: FakeCuda, file: Path, cache: Path, tmp_path: Path, right, choice: str
) -> None:
    graph, specs = read_model(file, cache), parse_devices(DEVICES)
    profile = measure(graph, specs, INPUTS, cache)
    profile.save(tmp_path / "p.json")
    costs = costs_of(graph, profile, specs)
    placement = place(costs.problem, "single")
    save_placement(tmp_path / "on_gpu.json", graph, costs.problem, placement)
    params = LoadParams(cache=cache, on_device_loss=choice)

    def placed(progress: Progress) -> PlannedModel:
        files = (tmp_path / "on_gpu.json", tmp_path / "p.json")
        return load_placed(file, *files, params, INPUTS, progress)

    with pytest.raises(DeviceLostError, match=f"{LOST}.*, while plans were compared"):
        placed(losing(fake, "build segments", 3))
    if choice == "recreate":
        check(placed(lambda *_: None), right)


@pytest.mark.parametrize("choice", CHOICES)
def test_opening_a_stored_plan_meets_the_loss(
    fake: FakeCuda, file: Path, cache: Path, right, choice: str
) -> None:
    fake.inject("cudaMemcpyAsync", 1, ILLEGAL_ADDRESS)  # of weights
    if choice == "fail":
        with pytest.raises(DeviceLostError, match=f"{LOST}.*, while sessions were opened"):
            load(file, cache, choice)
    else:
        model = load(file, cache, choice)
        check(model, right)
        assert model.plan.devices == AFTERWARDS[choice]


@pytest.mark.parametrize("choice", CHOICES)
def test_models_that_come_after_the_loss(
    fake: FakeCuda, file: Path, cache: Path, right, choice: str
) -> None:
    """Whatever lanes they name: the process has lost the GPU."""
    params = LoadParams(DEVICES, "single", cache=cache, on_device_loss=choice, selection_s=0)
    first, second = LazyModel(file, params), LazyModel(file, replace(params, devices="cuda:0"))
    check(first.model(), right)
    fake.inject("execute", 3, ILLEGAL_ADDRESS)
    with pytest.raises(ExecutionError, match=LOST):
        first.run(INPUTS)
    if choice == "fail":
        for _ in range(2):
            with pytest.raises(DeviceLostError, match=LOST):
                second.run(INPUTS)
    else:
        check(second.model(), right)
        check(first.model(), right)
        assert second.model().plan.devices == first.model().plan.devices == AFTERWARDS[choice]


def test_a_second_loss_right_after_the_first(
    fake: FakeCuda, file: Path, cache: Path, right
) -> None:
    model = load(file, cache, "recreate")
    for _ in range(3):
        fake.inject("execute", 3, ILLEGAL_ADDRESS)
        with pytest.raises(ExecutionError, match=LOST):
            model.run(INPUTS)
        check(model, right)
        assert model.plan.devices == ("cpu", "cuda:0")


def test_a_loss_while_the_gpu_is_opened_again(
    fake: FakeCuda, file: Path, cache: Path, right
) -> None:
    model = load(file, cache, "recreate")
    fake.inject("execute", 3, ILLEGAL_ADDRESS)
    fake.inject("cudaHostAlloc", 1, ILLEGAL_ADDRESS)
    with pytest.raises(ExecutionError, match=LOST):
        model.run(INPUTS)
    check(model, right)
    assert model.plan.devices == ("cpu",)
    assert LOST_TEXT in model.warning


@pytest.mark.parametrize("choice", CHOICES)
def test_both_partitions_of_a_gpu_are_lost(
    fake: FakeCuda, file: Path, cache: Path, right, choice: str
) -> None:
    first, second = (load(file, cache, choice, DIVIDED) for _ in range(2))
    check(second, right)
    fake.inject("execute", 3, ILLEGAL_ADDRESS)
    with pytest.raises(ExecutionError, match=r"'cuda:0\[64sm\]' is lost: "):
        first.run(INPUTS)
    for model in (second, first):
        if choice == "fail":
            with pytest.raises(ExecutionError, match=r"'cuda:0\[64sm\]' is lost: "):
                model.run(INPUTS)
        else:
            check(model, right)
            assert len(model.plan.devices) == (3 if choice == "recreate" else 1)


@pytest.mark.parametrize(
    ("function", "code", "told"),
    [
        ("cudaMalloc", OUT_OF_MEMORY, "out of GPU memory"),
        ("cudaMemcpyAsync", NOT_PERMITTED, "CUDA error 800"),
    ],
)
@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_no_loss_fails_its_query_alone(
    fake: FakeCuda,
    any_size: Path,
    cache: Path,
    choice: str,
    function: str,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What an earlier query took and has let go of is given back before memory runs out.
    monkeypatch.setattr(first_queries, "ask_once", lambda *_: None)
    model = load(any_size, cache, choice)
    small, large = (np.full(count, -1, np.float32) for count in (8, 8 << 20))
    fake.inject(function, 1, code)
    with pytest.raises(ExecutionError, match=f"device 'cuda:0': .*{told}"):
        model.run({"x": large})
    for x in (small, large):
        assert not model.run({"x": x})["y"].any()
    assert model.plan.devices == ("cpu", "cuda:0")
    assert (model.failure, model.warning) == ("", "")
    assert set(live_values()) == {0}


Progress = Callable[[str, int, int], None]


def losing(fake: FakeCuda, stage: str, nth: int) -> Progress:
    """Injects a loss when this stage of loading is first told of."""
    seen: set[str] = set()

    def progress(now: str, done: int, total: int) -> None:
        if now == stage and now not in seen:
            fake.inject("execute", nth, ILLEGAL_ADDRESS)
        seen.add(now)

    return progress


def operators_not_run(cache: Path) -> int:
    """Operators of which the store says that a GPU cannot run them."""
    with closing(sqlite3.connect(next(cache.glob("timings-*.sqlite")))) as store:
        found = store.execute("select count(*) from timings where key like 'gpu time%' and ns < 0")
        return int(found.fetchone()[0])
