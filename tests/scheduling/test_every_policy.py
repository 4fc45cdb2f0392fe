"""Every policy over every kind of plan: the bits of the model alone, which runs the same plan."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.colocation import policy_names
from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.policies.names import policy_spec
from surplus.colocation.profiles.table import Table
from surplus.engine.errors import DeadlineError
from surplus.engine.planning.stored_plan import StoredPlan
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.scheduling import base_plan
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.grouped_plan import GroupedPlan, cut_at, one_group
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams, load_live_model
from surplus.engine.scheduling.place import HOST, Place
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.scheduling.setting_up import places
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import copies_of
from surplus.engine.store.prepacked import processor_key

NAMES = ("lenet", "squeezenet")
SLO_NS = 500_000_000
"""Some policies give each model a turn as long as its target."""
TURNS = 40


@dataclass(frozen=True)
class Kind:
    """A kind of plan: into how many segments it is cut, and where these run, in turns.

    ``widths`` are lanes of the CPU.
    """

    segments: int
    devices: str
    lanes: int
    on: tuple[int, ...] = (HOST,)
    widths: tuple[int, ...] = (2,)


GPU = 1
KINDS = {
    "one session": Kind(1, "cpu:2", 2),
    "segments": Kind(5, "cpu:2", 2, widths=(1, 2)),
    "CPU and GPU": Kind(5, "cpu:1,emulated:gpu[replay]:4", 4, on=(GPU, HOST, HOST), widths=(1,)),
}


@dataclass(frozen=True)
class Served:
    """Models as policies see them, and what each answers alone."""

    models: tuple[LiveModel, ...]
    places: tuple[Place, ...]
    wanted: tuple[dict[str, Any], ...]


@pytest.fixture(scope="module", params=KINDS)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    kind, folder = KINDS[request.param], tmp_path_factory.mktemp("policies")
    stages = places(kind.devices, [kind.lanes])
    found: list[LiveModel] = []
    wanted: list[dict[str, Any]] = []
    for name in NAMES:
        options = {"image_size": 64} if name == "squeezenet" else {}
        path = models.save(models.build(name, **options), folder / f"{name}.onnx")
        cached = LiveModelParams(plan=BasePlanParams(cache=folder / "cache"))
        model = load_live_model(name, path, stages[0], cached)
        plan = plan_of(kind, model, stages[0])
        model.parts.whole = one_group(plan)
        model.parts.grouped = GroupedPlan(plan, tuple(range(len(plan.segments))))
        found.append(model)
        alone = PlannedModel(model.graph, plan, stages[0].machine)
        wanted.append(alone.run(dict(model.example)))
    return Served(tuple(found), stages, tuple(wanted))


def plan_of(kind: Kind, model: LiveModel, place: Place) -> Plan:
    """A model's plan of a kind."""
    whole = whole_plan(model.graph, place.devices)
    ends = np.linspace(0, len(model.graph.tasks), kind.segments + 1).astype(int).tolist()
    plan = cut_at(model.graph, whole, list(pairwise(ends))).plan
    rows = zip(plan.segments, cycle(kind.on), cycle(kind.widths), strict=False)
    segments = tuple(
        replace(segment, device=device, width=width if device == HOST else 1)
        for segment, device, width in rows
    )
    copies = copies_of(model.graph, segments, plan.memories)
    return replace(plan, segments=segments, copies=copies)


class WholeLanes(Table):
    """Times on whole lanes and no other shares, as those measured on a CPU are."""

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        if share_percent not in self._rows:
            raise ValueError(f"no time for {share_percent} %; there are {self._shares}")
        return super().latency_ns(items, sequence, share_percent)


def demand_of(served: Served) -> Demand:
    lanes = served.places[0].spec.lanes
    share = {str(100 * k // lanes): [1.0, 2.0] for k in range(1, lanes + 1)}
    count = len(served.models)
    return Demand(
        services=tuple(Service(m.name, SLO_NS, 1, m.operators) for m in served.models),
        profiles=(WholeLanes([1, 4], share),) * count,
        rates_per_s=(10.0,) * count,
        items=(1,) * count,
        sequences=(0,) * count,
        devices=(ServingDevice("device", lanes=lanes),),
    )


async def _answers(served: Served, policy: str) -> list[dict[str, Any]]:
    """To one query of each model at a time."""
    spec = policy_spec(policy)
    service = PolicyService(demand_of(served), spec, served.models, served.places)

    async def answer(index: int) -> dict[str, Any]:
        waits_s = np.random.default_rng(index).uniform(0, SLO_NS / 1e9, TURNS)
        for turn in range(TURNS):  # whose turn is over may be turned away
            try:
                return await service.submit(index, served.models[index].example).answer
            except DeadlineError:
                if turn == TURNS - 1:
                    raise
                await asyncio.sleep(waits_s[turn])  # to another time of the session
        raise AssertionError

    try:
        return await asyncio.gather(*(answer(k) for k in range(len(served.models))))
    finally:
        service.close()


@pytest.mark.parametrize("policy", policy_names())
def test_answers_have_the_bits_of_the_model_alone(served: Served, policy: str) -> None:
    answers = asyncio.run(_answers(served, policy))
    for name, answer, wanted in zip(NAMES, answers, served.wanted, strict=True):
        assert answer.keys() == wanted.keys()
        for key, array in wanted.items():
            np.testing.assert_array_equal(answer[key], array, err_msg=f"{name}: {key}")


def test_a_policy_runs_the_plan_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU; one session where nothing is stored, or any bits will do on one lane."""
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    (place,) = places("cpu:2", [2])
    cached = LiveModelParams(plan=BasePlanParams(cache=tmp_path / "cache"))
    sliced = plan_of(KINDS["segments"], load_live_model("lenet", path, place, cached), place)
    for stored, any_bits in ((False, False), (True, False), (True, True)):
        kept = StoredPlan(sliced, checked={"processor": processor_key()}) if stored else None
        monkeypatch.setattr(base_plan, "read_plan", lambda *_, kept=kept: kept)
        plan = BasePlanParams("background", cache=tmp_path / "cache")
        model = load_live_model("lenet", path, place, LiveModelParams(plan=plan, any_bits=any_bits))
        whole = model.parts.whole.plan
        assert len(whole.segments) == (len(sliced.segments) if stored else 1)
        narrow = model.parts._uncut(place).plan
        assert len(narrow.segments) == (1 if any_bits else len(whole.segments))
        assert {s.device for s in whole.segments} == {HOST}
