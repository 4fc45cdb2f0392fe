"""When ``engine serve`` is told that its models' queries are due."""

from __future__ import annotations

import argparse

import pytest

from surplus.engine.cli.serve_urgency import add_urgency, by_model
from surplus.engine.errors import ConfigError
from surplus.engine.planning.load_params import LoadParams
from tests.cli.calls import Command


def _asked(
    *slo: str, best_effort: tuple[str, ...] = (), weight: tuple[str, ...] = ()
) -> argparse.Namespace:
    return argparse.Namespace(
        slo=list(slo),
        best_effort=list(best_effort),
        weight=list(weight),
        late="refuse",
        max_wait_ms=250.0,
    )


def test_each_model_is_as_urgent_as_was_said() -> None:
    asked = _asked("a=50ms", "b=1s", best_effort=("c",))
    found = by_model(asked, LoadParams(devices="cpu:1"), ["a", "a", "b", "c", "d"])
    assert {name: params.deadline_s for name, params in found.items()} == {
        "a": 0.05, "b": 1.0, "c": None, "d": None
    }  # fmt: skip
    assert [name for name, params in found.items() if params.best_effort] == ["c"]
    assert all(params.devices == "cpu:1" for params in found.values())


def test_each_model_has_its_weight_and_all_refuse_alike() -> None:
    found = by_model(_asked(weight=("a=2.5",)), LoadParams(devices="cpu:1"), ["a", "b"])
    assert {name: params.weight for name, params in found.items()} == {"a": 2.5, "b": 1.0}
    assert {(params.on_late, params.max_wait_s) for params in found.values()} == {("reject", 0.25)}


def test_a_server_refuses_by_default() -> None:
    parser = argparse.ArgumentParser()
    add_urgency(parser)
    assert parser.parse_args([]).late == "refuse"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"weight must be 0\.01 to 100"):
        by_model(_asked(weight=("a=0",)), LoadParams(), ["a"])
    with pytest.raises(ValueError, match="--weight a: expected a number, got 'much'"):
        by_model(_asked(weight=("a=much",)), LoadParams(), ["a"])
    with pytest.raises(ConfigError, match="give deadline_s or best_effort"):
        by_model(_asked("a=1s", best_effort=("a",)), LoadParams(), ["a"])
    with pytest.raises(ValueError, match="expected a duration such as 50ms, got '0s'"):
        by_model(_asked("a=0s"), LoadParams(), ["a"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--slo", "nobody=1s"), "--slo nobody: there is no such model, only lenet"),
        (("--best-effort", "nobody"), "--best-effort nobody: there is no such model"),
        (("--weight", "nobody=2"), "--weight nobody: there is no such model"),
        (("--max-wait-ms", "-1"), "max_wait_s must be 0 to"),
        (("--policy", "edf", "--weight", "lenet=2"), "alone; by weights, too: surplus, priced"),
        (("--policy", "priced", "--weight", "lenet=much"), "--weight lenet: expected a number"),
        (("--policy", "edf", "--best-effort", "lenet"), "decides by targets: give --slo"),
        (("--max-batch", "-1"), "max_batch must be 0 to 1024, got -1"),
    ],
)
def test_names_of_no_model_are_refused(
    engine: Command, words: tuple[str, ...], message: str
) -> None:
    called = engine("serve", engine.path("lenet.onnx"), *words)
    assert called.status != 0
    assert message in called.err
