"""Sizes that differ from query to query, empty ones included, on one plan each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from surplus.engine import _core
from surplus.engine.contest.reference import run_reference
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, InputError
from surplus.engine.native import open_session
from surplus.engine.pipeline import making as load_module
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.values import from_value, to_value
from tests.constant_costs import constant_problem, scattered_plan, sliced_plan, whole_plan
from tests.end_to_end.dynamic_models import DYNAMIC, LONGEST, Query
from tests.end_to_end.small_models import NEGLIGIBLE, RELATIVE

CHARGED_NS = 2_000

PLANS: dict[str, tuple[str, Callable[..., Plan], dict[str, int]]] = {
    "whole": ("cpu:2", whole_plan, {}),
    "slices": ("cpu:2", sliced_plan, {"count": 5}),
    "every task": ("cpu:2", scattered_plan, {"seed": 0}),
    "two devices": ("cpu:1,emulated:gpu", scattered_plan, {"seed": 1}),
}


@dataclass(frozen=True)
class Subject:
    """A model read by the engine, and plain ONNX Runtime beside it."""

    path: Path
    graph: Graph
    plain: _core.Session

    def plan(self, name: str, width: int = 1) -> Plan:
        devices, make, options = PLANS[name]
        plan = make(self.graph, constant_problem(self.graph, parse_devices(devices)), **options)
        segments = (replace(s, width=width, service_ns=CHARGED_NS) for s in plan.segments)
        return replace(plan, segments=tuple(segments))

    def model(self, name: str, width: int = 1) -> PlannedModel:
        return PlannedModel(
            self.graph, self.plan(name, width), machine_for(parse_devices(PLANS[name][0]))
        )

    def check(self, outputs: Mapping[str, Any], query: Query) -> None:
        """Raise AssertionError where the outputs are not plain ONNX Runtime's."""
        found = self.plain.run({name: to_value(array) for name, array in query.items()})
        assert list(outputs) == self.plain.output_names
        for name, value in zip(self.plain.output_names, found, strict=True):
            right = from_value(value)
            floor = NEGLIGIBLE * float(np.max(np.abs(right), initial=0.0))
            np.testing.assert_allclose(
                outputs[name], right, rtol=RELATIVE, atol=floor, strict=True, err_msg=name
            )


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Subject]:
    folder = tmp_path_factory.mktemp("dynamic")

    @cache
    def make(name: str) -> Subject:
        path = folder / f"{name}.onnx"
        onnx.save(DYNAMIC[name].build(), path)
        return Subject(path, read_model(path, folder / "cache"), open_session(str(path)))

    return make


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", DYNAMIC)
def test_every_size(name: str, plan: str, subjects: Callable[[str], Subject]) -> None:
    subject, dynamic = subjects(name), DYNAMIC[name]
    model = subject.model(plan)
    for size in (*range(dynamic.sizes), 0, dynamic.sizes - 1):
        query = dynamic.query(size)
        subject.check(model.run(query), query)


@pytest.mark.parametrize("name", DYNAMIC)
def test_every_size_in_one_wide_segment(name: str, subjects: Callable[[str], Subject]) -> None:
    subject, dynamic = subjects(name), DYNAMIC[name]
    model = subject.model("whole", width=2)
    for size in range(dynamic.sizes):
        subject.check(model.run(dynamic.query(size)), dynamic.query(size))


@pytest.mark.parametrize("plan", ["slices", "two devices"])
@pytest.mark.parametrize("name", DYNAMIC)
def test_many_sizes_in_flight(name: str, plan: str, subjects: Callable[[str], Subject]) -> None:
    subject, dynamic = subjects(name), DYNAMIC[name]
    model = subject.model(plan)
    queries = [dynamic.query(size) for size in range(dynamic.sizes)]
    futures = [model.submit(query) for query in queries * 2]
    for future, query in zip(futures, queries * 2, strict=True):
        subject.check(future.result(), query)


@pytest.mark.parametrize("name", DYNAMIC)
def test_the_same_bits_as_the_oracles(name: str, subjects: Callable[[str], Subject]) -> None:
    subject, dynamic = subjects(name), DYNAMIC[name]
    plan, model = subject.plan("slices"), subject.model("slices")
    for size in (dynamic.sizes - 1, 0, dynamic.sizes // 2 + 1):
        query = dynamic.query(size)
        right = run_reference(subject.graph, plan, query)
        outputs = model.run(query)
        assert {n: a.tobytes() for n, a in outputs.items()} == {
            n: a.tobytes() for n, a in right.items()
        }


@pytest.mark.parametrize(
    ("name", "output", "shape"),
    [("detector", "features", (8,)), ("two stages", "masks", (1, 28, 28))],
)
def test_nothing_found_and_much_found(
    name: str, output: str, shape: tuple[int, ...], subjects: Callable[[str], Subject]
) -> None:
    """Behind nothing found stand regions of interest, convolutions, pools: of no images."""
    model, query = subjects(name).model("every task"), DYNAMIC[name].query
    assert model.run(query(14))["boxes"].shape == (0, 4)
    assert model.run(query(15))["boxes"].shape[0] > 30
    assert model.run(query(14))[output].shape == (0, *shape)


TOKENS = ("input_ids", "token_type_ids", "attention_mask")

EMPTY: dict[str, Query] = {
    "cnn": {"image": np.zeros((0, 3, 40, 40), np.float32)},
    "detector": {"image": np.zeros((1, 3, 1, 1), np.float32)},
    "two stages": {"image": np.zeros((1, 3, 1, 1), np.float32)},
    "transformer": {name: np.zeros((0, 7), np.int64) for name in TOKENS},
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", DYNAMIC)
def test_empty_batches(name: str, plan: str, subjects: Callable[[str], Subject]) -> None:
    subject = subjects(name)
    subject.check(subject.model(plan).run(EMPTY[name]), EMPTY[name])


REFUSED: dict[str, Query] = {
    "cnn": {"image": np.zeros((1, 3, 0, 32), np.float32)},
    "transformer": {name: np.zeros((1, LONGEST + 1), np.int64) for name in TOKENS},
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_size_that_no_kernel_takes(
    name: str, plan: str, subjects: Callable[[str], Subject]
) -> None:
    subject, query = subjects(name), DYNAMIC[name].query(1)
    with pytest.raises(RuntimeError):
        subject.plain.run({n: to_value(array) for n, array in REFUSED[name].items()})
    model = subject.model(plan)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"(model|segment) '"):
            model.run(REFUSED[name])
        subject.check(model.run(query), query)


@pytest.mark.parametrize("shape", [(1, 4, 32, 32), (1, 3, 32), (0,), (1, 0, 32, 32)])
def test_a_size_that_the_model_fixes(
    shape: tuple[int, ...], subjects: Callable[[str], Subject]
) -> None:
    model = subjects("cnn").model("whole")
    with pytest.raises(InputError, match=r"'image': expected shape \(batch, 3, height, width\)"):
        model.run({"image": np.zeros(shape, np.float32)})


def test_a_loaded_model_takes_other_sizes_than_it_was_planned_with(
    subjects: Callable[[str], Subject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, query = subjects("cnn"), DYNAMIC["cnn"].query
    options: dict[str, Any] = {"devices": "cpu:2", "selection_s": 0, "cache": tmp_path}
    first = load_planned(subject.path, inputs=query(1), **options)
    for step in ("measure", "place", "choose"):
        monkeypatch.setattr(load_module, step, None)  # planning again would call them
    again = load_planned(subject.path, inputs=query(1), **options)
    assert again.plan == first.plan
    for size in range(DYNAMIC["cnn"].sizes):
        subject.check(again.run(query(size)), query(size))
