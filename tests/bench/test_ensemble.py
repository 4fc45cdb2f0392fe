"""What bench ensemble asks, and what it makes of times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.ensemble.__main__ import CLIENTS, HOWS, Found, require_equal, row
from bench.ensemble.repositories import ENSEMBLE, write_ours, write_tritons
from bench.ensemble.servers import TRITON
from bench.ensemble.steps import OUTPUTS, PHOTOGRAPHS, PipelineStep, photograph
from surplus.engine.ensembles.in_repository import find_ensemble
from surplus.engine.repository.layout import read_entries
from surplus.engine.serving.warm_up import real_inputs

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
step (uint8[n] a) => (float[n] b, float[n] c, float[n] d)
{ b = Cast<to = 1>(a)  c = Neg(b)  d = Abs(b) }
"""


def steps(folder: Path) -> list[PipelineStep]:
    onnx.save(onnx.parser.parse_model(TEXT), folder / "one.onnx")
    makes = dict(zip("bcd", OUTPUTS, strict=True))
    return [PipelineStep("one", folder / "one.onnx", {"a": "FILE"}, makes)]


def test_the_repository_is_one_that_is_served(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime_extensions")
    write_ours(tmp_path / "ours", steps(tmp_path), b"photo")
    (entry,) = read_entries(tmp_path / "ours" / ENSEMBLE, ENSEMBLE)
    assert entry.error == ""
    ((step, model),) = find_ensemble(entry).steps
    assert (step.model, dict(step.inputs), model.error) == ("one", {"a": "FILE"}, "")
    assert real_inputs(entry.config)["FILE"].tobytes() == b"photo"
    write_tritons(tmp_path / "tritons", steps(tmp_path))
    text = (tmp_path / "tritons" / "one" / "config.pbtxt").read_text()
    assert 'key: "operators"' in text
    assert (tmp_path / "tritons" / ENSEMBLE / "1").is_dir()


def test_ratios_are_of_the_same_round() -> None:
    measured = Found()
    measured.took_ns["ours", HOWS[0]] = [2e6, 40e6, 6e6]
    measured.took_ns["ours", HOWS[1]] = [4e6, 80e6, 6e6]
    measured.cpu_ns["ours"] = [3e6]
    measured.per_s.update({"ours": [9.0, 8.0], TRITON: [3.0, 4.0]})
    found = row("ours", HOWS[0], measured)
    assert (found["one query ms"], found["of the steps in turn"]) == (6, 0.5)
    assert (found[f"queries/s, {CLIENTS} clients"], found["of Triton's"]) == (8.5, 2.5)
    assert row("ours", HOWS[1], measured)["of the steps in turn"] == 1


def test_answers_that_differ_are_no_comparison() -> None:
    one, other = {"x": np.ones(2)}, {"x": np.zeros(2)}
    require_equal({"a": one, "b": one})
    with pytest.raises(AssertionError):
        require_equal({"a": one, "b": other})


def test_photographs_are_jpeg_files_of_their_sizes() -> None:
    large, small = map(photograph, PHOTOGRAPHS)
    assert large[:2].tobytes() == small[:2].tobytes() == b"\xff\xd8"
    assert len(large) > 4 * len(small)
