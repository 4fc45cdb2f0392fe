"""``engine plans``: what is stored of a model, as a table and as JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from surplus.engine.planning.stages import read_model
from surplus.engine.planning.stored_plan import read_document
from surplus.engine.planning.stored_plans import stored_plans
from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.profiling.intervals import Interval
from surplus.engine.segmentation.judgement import Judgement, RunnerUp, TrialOutcome, TrialRecord
from tests.cli.calls import Command

DEVICES = ("--devices", "cpu:2")


def _stored(engine: Command, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine("plans", engine.path(name), "--json").json()
    return found


def _seal(path: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document)
    path.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
    path.chmod(0o600)


def test_a_plan_and_on_what_grounds_it_is_used(engine: Command) -> None:
    engine("run", engine.path("fork_join.onnx"), *DEVICES, "--repeat", "1")
    (row,) = [r for r in _stored(engine, "fork_join.onnx") if r["made_for"]["devices"] == ["cpu:2"]]
    judgement = row["judgement"]
    assert judgement["measured_ns"] > 0
    assert {r["name"] for r in judgement["runners_up"]} & {"whole x1", "whole x2"}
    assert 0 <= judgement["disturbance"]["taken"] <= 1
    called = engine("plans", engine.path("fork_join.onnx"))
    assert called.status == 0
    assert max(map(len, called.out.splitlines())) <= 100
    assert "judged" in called.out or "provisional" in called.out


def test_a_model_of_which_nothing_is_stored(engine: Command, tmp_path: Path) -> None:
    empty = replace(engine, folder=tmp_path)
    assert empty("plans", engine.path("lenet.onnx"), "--json").json() == []
    called = empty("plans", engine.path("lenet.onnx"))
    assert (called.status, called.out) == (
        0,
        f"no plan of {engine.path('lenet.onnx')} is stored\n",
    )


def test_a_plan_that_was_judged_again(engine: Command, tmp_path: Path) -> None:
    path, own = engine.path("fork_join.onnx"), replace(engine, folder=tmp_path)
    own("run", path, *DEVICES, "--repeat", "1")
    (kept,) = stored_plans(read_model(path, tmp_path / "cache"))
    trial = TrialRecord(
        1_700_000_000,
        kept.plan.name,
        "another",
        Interval(1.1, 1.25, 1.3, 7),
        TrialOutcome.KEPT,
        10**9,
        10**6,
        Disturbance(taken=0.02),
    )
    judgement = Judgement(
        1_700_000_000,
        Disturbance(taken=0.4),
        True,
        10**6,
        10**6,
        (RunnerUp.of(replace(kept.plan, name="another"), 1.25),),
        (trial,),
    )
    _seal(kept.path, {**read_document(kept.path), "judgement": judgement.to_dict()})
    (row,) = own("plans", path, "--json").json()
    assert row["judgement"]["provisional"]
    assert row["judgement"]["trials"][0]["outcome"] == "kept"
    assert row["judgement"]["runners_up"] == [{"name": "another", "ratio": 1.25}]
    out = " ".join(own("plans", path).out.split())
    assert "provis" in out
    assert "40 %" in out


def test_what_is_of_an_earlier_version_is_not_listed(engine: Command, tmp_path: Path) -> None:
    path, own = engine.path("lenet.onnx"), replace(engine, folder=tmp_path)
    folder = read_model(path, tmp_path / "cache").folder
    _seal(folder / "plan-0-1.json", {"format": "surplus-stored-plan/1"})
    assert own("plans", path, "--json").json() == []
