"""Random models of fixed seeds are answered rightly, and what is not is found and named."""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.fuzzing import crew, trial
from bench.fuzzing.crew import outcomes
from bench.fuzzing.generator import grow
from bench.fuzzing.growing import Array, run_plain
from bench.fuzzing.rules import RULES
from bench.fuzzing.trial import Outcome, try_out
from bench.safety import fuzz_models
from surplus.engine.dfg import extract
from surplus.engine.errors import ExecutionError

FIRST, COUNT = 500, 60


def _never() -> bool:
    return False


def test_models_of_fixed_seeds() -> None:
    found = list(outcomes(FIRST, COUNT, 2, _never, shift=COUNT // 2))
    assert sorted(outcome.seed for outcome in found) == list(range(FIRST, FIRST + COUNT))
    assert [o for o in found if o.kind not in ("right", "unusable")] == []
    assert Counter(outcome.kind for outcome in found)["right"] > 0.9 * COUNT


def test_a_seed_makes_one_model() -> None:
    for seed in range(5):
        first, second = grow(seed), grow(seed)
        assert first.model.SerializeToString() == second.model.SerializeToString()
        for name, value in first.inputs.items():
            np.testing.assert_array_equal(value, second.inputs[name], strict=True)
    assert grow(1).model != grow(2).model


def test_models_are_valid_and_of_every_kind() -> None:
    kinds: set[str] = set()
    for seed in range(300):
        grown = grow(seed)
        onnx.checker.check_model(grown.model)
        kinds |= {node.op_type for node in grown.model.graph.node}
        if seed < 20:
            run_plain(grown.model.SerializeToString(), grown.inputs)
    assert {"If", "Loop", "Scan", "SequenceAt", "QuantizeLinear", "NonZero", "LSTM"} <= kinds
    assert len(kinds) > 110
    assert len(RULES) > 60


def _cut_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    right = extract.extract

    def wrong(*args: object, **options: object) -> onnx.ModelProto:
        model = right(*args, **options)  # type: ignore[arg-type]
        name = model.graph.output[0].name
        for node in model.graph.node:
            node.output[:] = [f"{n}-right" if n == name else n for n in node.output]
        model.graph.node.append(onnx.helper.make_node("Identity", [f"{name}-right"], [name]))
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                array: Array = onnx.numpy_helper.to_array(tensor)
                tensor.CopyFrom(onnx.numpy_helper.from_array(array + 1, tensor.name))
        return model

    monkeypatch.setattr(extract, "extract", wrong)


def test_a_planted_wrong_segment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_wrongly(monkeypatch)
    found = [try_out(grow(seed)) for seed in (1, 2, 3, 4)]
    wrong = [outcome for outcome in found if outcome.kind == "wrong"]
    assert wrong
    assert all(o.how.startswith("cut") and " apart, " in o.detail for o in wrong)


def test_refusals_are_counted_by_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, cache: Path) -> None:
        raise ExecutionError(f"{path}: task 'v17' failed: dimension 17 is not {path.stem}")

    monkeypatch.setattr(trial, "read_model", refuse)
    found = [try_out(grow(seed)) for seed in (1, 2)]
    assert {o.kind for o in found} == {"refused"}
    (row,) = fuzz_models._rows(found)
    assert (row["count"], row["seed"], row["how"]) == (2, 1, "whole")
    assert row["reason"] == "task _ failed: dimension N is not model"


@pytest.mark.parametrize(
    ("step", "ends", "kind", "reason"),
    [
        ("plain", "os.abort()", "unusable", "ends the process (SIGABRT)"),
        ("cut cpu:2", "os.abort()", "crashed", "ends the process (SIGABRT)"),
        ("whole", "sys.exit(3)", "crashed", "exits with 3"),
    ],
)
def test_what_ends_a_worker_is_named_and_the_next_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, ends: str, kind: str, reason: str
) -> None:
    """A worker that ends at seed 7, and one in its place that does not."""
    script = tmp_path / "worker.py"
    script.write_text(
        f"""
import json, os, sys
first, count = int(sys.argv[1]), int(sys.argv[2])
for seed in range(first, first + count):
    print(json.dumps({{"seed": seed, "step": {step!r}}}), flush=True)
    if seed == 7:
        {ends}
    print(json.dumps({{"outcome": {{"seed": seed, "kind": "right"}}}}), flush=True)
"""
    )
    monkeypatch.setattr(crew, "WORKER", (sys.executable, str(script)))
    found = {o.seed: o for o in outcomes(5, 5, 1, _never)}
    assert found.pop(7) == Outcome(7, kind, step, reason)
    assert [o.kind for _, o in sorted(found.items())] == ["right"] * 4


def test_it_ends_when_its_time_is_over() -> None:
    ticks = itertools.count()
    began = time.monotonic()
    found = list(outcomes(0, 1_000_000, 1, lambda: next(ticks) > 3))
    assert len(found) < 100
    assert time.monotonic() > began


def test_exit_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_with(*kinds: str) -> int:
        made = [Outcome(i, kind) for i, kind in enumerate(kinds)]
        monkeypatch.setattr(fuzz_models, "outcomes", lambda *_: iter(made))
        return fuzz_models.main(["--count", str(len(made))])

    assert ends_with(*["right"] * 1000, "refused") == 0
    assert ends_with(*["right"] * 900, "refused") == 1
    assert ends_with("right", "wrong") == 1
    assert ends_with("right", "crashed") == 1
    assert ends_with("right", "unusable") == 0
