"""``engine tune``: the rounds as a table or JSON, and a plan that later loads use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calls import Command

WORDS = ("--devices", "cpu:2", "--time", "0.3")


def test_tune_prints_rounds_and_stores_the_plan(engine: Command) -> None:
    called = engine("tune", engine.path("fork_join.onnx"), *WORDS)
    assert called.status == 0
    assert "what each round tried" in called.out
    assert all(text in called.out for text in ("whole x1", "whole x2", "predicted", "ratio"))
    assert max(map(len, called.out.splitlines()[:-1])) <= 100
    *_, last = called.out.splitlines()
    path = Path(last.removeprefix("stored in "))
    assert json.loads(path.read_text().partition("\n")[2])["tuning"]["budget_s"] == 0.3
    plan = engine(
        "run", engine.path("fork_join.onnx"), *WORDS[:2], "--repeat", "1", "--json"
    ).json()
    assert f"{plan['segmentation']}, {plan['segments']} segments" in called.out


def test_tune_as_json(engine: Command) -> None:
    report = engine("tune", engine.path("lenet.onnx"), *WORDS, "--json").json()
    assert report["chosen"]
    assert report["stopped"]
    first = report["rounds"][0]["tried"][0]
    assert first["predicted_ns"] > 0
    assert first["ratio"]["low"] <= first["ratio"]["median"]
    assert Path(report["path"]).is_file()


def test_tune_within_a_limit_of_memory(engine: Command) -> None:
    words = ("--devices", "cpu:1,emulated:gpu", "--time", "0.3", "--policy", "single")
    limited = (*words, "--gpu-memory", "20kB")
    report = engine("tune", engine.path("lenet.onnx"), *limited, "--json").json()
    plan = Path(report["path"]).read_text().partition("\n")[2]
    again = engine(
        "run", engine.path("lenet.onnx"), *words[:2], *words[4:], *limited[-2:], "--json"
    )
    assert f'"name": "{report["chosen"]}"' in plan
    assert again.json()["segmentation"] == report["chosen"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--time", "0"), "the time to tune must be > 0 seconds, got 0.0"),
        (("--time", "nan"), "the time to tune must be > 0 seconds, got nan"),
        (("--time", "long"), "invalid float value: 'long'"),
        (("--devices", "tpu:1"), "unknown kind 'tpu'"),
        (("--option", "alpha=1"), "has no option 'alpha'"),
        (("--gpu-memory", "20 gb"), "size '20 gb' is not understood"),
        (("--inputs", "missing.npz"), "missing.npz"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    engine: Command, words: tuple[str, str], message: str
) -> None:
    called = engine("tune", engine.path("lenet.onnx"), *words)
    assert called.is_one_clear_line()
    assert message in called.err
