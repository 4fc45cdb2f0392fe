"""A thousand mutated and truncated models: one clear line each, or a working model; no crash."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import onnx

from surplus import models
from tests.onnx_mutations import MUTATIONS

COUNT = 1_000
SCRIPT = Path(__file__).with_name("hostile_batch.py")


def test_mutated_and_truncated_models(tmp_path: Path) -> None:
    rng = random.Random(11)
    sources = [model.SerializeToString() for model in _victims()]
    for index in range(COUNT):
        mutate = MUTATIONS[index % len(MUTATIONS)]
        victim = mutate(sources[index // len(MUTATIONS) % len(sources)], rng)
        (tmp_path / f"{index:04}.onnx").write_bytes(victim)
    out = tmp_path / "outcomes"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), str(out)],
        capture_output=True,
        text=True,
    )
    outcomes = [json.loads(line) for line in out.read_text().splitlines()]
    assert done.returncode == 0, f"after {outcomes[-1:]}: {done.stderr[-3000:]}"
    assert len(outcomes) == COUNT
    assert [o for o in outcomes if o[1] == 1 and not _is_one_clear_line(o[2])] == []
    assert {status for _, status, _, _ in outcomes} == {0, 1}
    assert sum(answer == "ok" for *_, answer in outcomes) > COUNT // 10
    assert [o for o in outcomes if "\n" in o[3]] == []


def _is_one_clear_line(message: str) -> bool:
    return message.startswith("engine inspect: ") and message.count("\n") == 1


def _victims() -> list[onnx.ModelProto]:
    return [
        models.build("random_dag", nodes=40, width=6, size=16),
        models.build("lenet"),
        onnx.parser.parse_model(_CONTROL_FLOW),
    ]


_CONTROL_FLOW = """
<ir_version: 9, opset_import: ["" : 18]>
control (float[n, 4] x, bool flag) => (float[n, 4] y, int64[m] rows)
<float[4] shift = {1.0, 2.0, 3.0, 4.0}, int64 three = {3}, float zero = {0.0}>
{
    moved = Add(x, shift)
    chosen = If (flag) <
        then_branch = yes () => (float[n, 4] a) { a = Relu(moved) },
        else_branch = no () => (float[n, 4] b) { b = Neg(moved) }
    >
    looped = Loop (three, flag, chosen) <
        body = step (int64 i, bool go, float[n, 4] c) => (bool on, float[n, 4] d) {
            on = Identity(go)
            d = Add(c, shift)
        }
    >
    parts = SplitToSequence <axis = 1> (looped)
    y = ConcatFromSequence <axis = 1> (parts)
    positive = Greater(y, zero)
    found = NonZero(positive)
    first = Constant <value_ints = [0]> ()
    gathered = Gather(found, first)
    rows = Squeeze(gathered, first)
}
"""
