"""Shares of an emulated GPU's processors: derived times, partitions, policies live."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surplus import models
from surplus.colocation.frame.service import Partition
from surplus.engine.cli.main import main
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.live_model import LiveModelParams, load_live_model
from surplus.engine.scheduling.policy_params import PolicyParams, prepare
from surplus.engine.scheduling.policy_service import PolicyService
from surplus.engine.scheduling.setting_up import places
from surplus.engine.scheduling.share_times import device_times, share_times
from tests.scheduling.stage import CHAIN, Stage, piece, saved

GPU = parse_devices("emulated:gpu[t4]:4")[1]


@pytest.fixture(scope="module")
def lenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shares") / "lenet.onnx"
    models.save(models.build("lenet"), path)
    return path


def in_groups(count: int, path: Path) -> LiveModelParams:
    return LiveModelParams(count, plan=BasePlanParams(cache=path.parent / "cache"))


@pytest.mark.parametrize("share", [1, 7, 40, 100])
def test_times_on_a_share_are_those_of_a_gpu_with_so_many_processors(
    lenet: Path, share: int
) -> None:
    (place,) = places("emulated:gpu[t4]:4", [1])
    model = load_live_model("lenet", lenet, place, in_groups(3, lenet))
    inputs = model.inputs(64)
    found = share_times(model.graph, GPU, inputs, model.cache).on_share(share)
    alone = replace(GPU, name="emulated:gpu[part]", lanes=1, share_percent=share)
    wanted = device_times(model.graph, alone, inputs, model.cache)
    for ours, theirs in (
        (found.task_ns[0, 1], wanted.task_ns[0, 1]),
        (found.captured_ns[0], wanted.captured_ns[0]),
    ):
        assert all(
            a == pytest.approx(b, abs=2) for a, b in zip(ours, theirs, strict=True) if a and b
        )


def test_a_smaller_share_takes_longer_but_not_for_memory(lenet: Path) -> None:
    (place,) = places("emulated:gpu[t4]:4", [1], by_share=True)
    model = load_live_model("lenet", lenet, place, in_groups(2, lenet))

    def total_ns(share: int, items: int) -> int:
        own = replace(place, spec=replace(place.spec, share_percent=share))
        charges = model.charges(own, items, whole=True)
        assert charges is not None
        return sum(charge.service_ns for charge in charges)

    assert total_ns(100, 1) == total_ns(50, 1)  # launches are all that a small batch costs
    assert total_ns(100, 256) < total_ns(20, 256) < 5 * total_ns(100, 256)


def test_charges_that_are_known_are_not_derived_under_load(
    lenet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place,) = places("emulated:gpu[t4]:4", [1], by_share=True)
    model = load_live_model("lenet", lenet, place, in_groups(2, lenet))
    model.know_charges(place, 6)
    monkeypatch.setattr("surplus.engine.scheduling.live_model.share_times", None)
    for items in range(1, 7):
        own = replace(place, spec=replace(place.spec, share_percent=10 * items))
        assert model.charges(own, items, whole=True) is not None


def test_partitions_of_any_share_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [3], "emulated:gpu[t4]:2", by_share=True)
    stage.backend.prepare([Partition(0, 37), Partition(0, 63)])
    first, second = stage.query(0), stage.query(1, items=3)
    assert stage.run(piece([first], 0, 2)) == ""
    assert stage.run(piece([second], 0, 3), partition=1) == ""
    assert stage.run(piece([first], 2, 3)) == ""
    stage.expect(first, second)


def test_each_share_has_a_stream_of_its_own() -> None:
    """They waited for each other's streams, which their simulation did not."""
    (place,) = places("emulated:gpu[t4]:2", [1], by_share=True)
    assert place.spec == place.devices[place.index]
    assert place.spec.lanes == 100


def test_a_cpu_has_no_shares_of_processors() -> None:
    with pytest.raises(ConfigError, match="only emulated GPUs"):
        places("cpu:2", [1], by_share=True)


SCENARIO = """
duration_s = 0.3
seed = 3
policies = ["gpulet", "dstack", "gslice", "max_min_drop", "nexus"]

[[device]]
name = "gpu"

[[service]]
name = "a"
slo_ms = 1000
max_batch = 8
operators = 3
profile = { kind = "measured", path = "profile.json", model = "a" }
load = { kind = "poisson", rate_per_s = 150 }

[[service]]
name = "b"
slo_ms = 1500
max_batch = 8
profile = { kind = "measured", path = "profile.json", model = "b" }
load = { kind = "uniform", rate_per_s = 100 }

[live]
devices = "emulated:gpu[t4,replay]:4"
shares = [1, 20, 40, 60, 80, 100]
models = { a = "lenet", b = "chain.onnx" }
"""


def test_policies_of_shares_serve_live(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(CHAIN, tmp_path)
    scenario = tmp_path / "shares.toml"
    scenario.write_text(SCENARIO)
    cache = ["--cache", str(tmp_path / "cache")]
    assert main(["colocate", "profile", str(scenario), "--rounds", "2", *cache]) == 0
    measured = json.loads((tmp_path / "profile.json").read_text())
    assert list(measured["models"]["a"]["ms"]) == ["1", "20", "40", "60", "80", "100"]
    capsys.readouterr()
    assert main(["simulate", str(scenario), "--live", "--json", *cache]) == 0
    for live in json.loads(capsys.readouterr().out)["live"]:
        total = live["total"]
        assert total["failed"] == total["unfinished"] == 0
        assert total["in_time"] + total["late"] > 0


def test_a_server_divides_a_gpu_by_shares(lenet: Path, tmp_path: Path) -> None:
    """A policy of shares plans by what it measured at the start, and answers."""
    params = PolicyParams(
        policy="gpulet",
        slos_ns={"a": 10**10, "b": 10**10},
        devices="emulated:gpu[t4]:2",
        rates_per_s={"a": 50.0, "b": 50.0},
        most_items=2,
        rounds=1,
        cache=tmp_path / "cache",
        shares=(20, 40, 50, 60, 80, 100),
    )
    prepared = prepare(params, {"a": lenet, "b": lenet})

    async def use() -> None:
        service = PolicyService(prepared.demand, prepared.policy, prepared.models, prepared.places)
        image = {"image": np.zeros((1, 1, 28, 28), np.float32)}
        answers = await asyncio.gather(*(service.submit(k % 2, image).answer for k in range(6)))
        assert all(answer["logits"].shape == (1, 10) for answer in answers)
        service.close()

    asyncio.run(use())


@pytest.mark.parametrize("shares", ["[40, 20, 100]", "[20, 40]", "[20, 20, 100]"])
def test_wrong_shares_are_named(
    tmp_path: Path, shares: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "shares.toml"
    scenario.write_text(SCENARIO.replace("[1, 20, 40, 60, 80, 100]", shares))
    assert main(["colocate", "profile", str(scenario)]) == 1
    assert "shares must ascend" in capsys.readouterr().err
