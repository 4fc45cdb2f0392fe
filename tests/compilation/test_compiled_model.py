"""From a model to versions that answer as ONNX Runtime: TVM, a linker, the segment ABI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.engine.compilation.blocks import find_blocks, operations_of
from surplus.engine.compilation.candidates import CandidateParams
from surplus.engine.compilation.compile_model import (
    CompilationParams,
    CompiledModel,
    compile_model,
)
from surplus.engine.compilation.tvm_here import has_tvm
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.compiled_check import check_compiled
from surplus.engine.scheduling.live_model import LiveModelParams
from surplus.engine.scheduling.setting_up import loaded, places
from tests.compilation.small_models import attention, bottleneck, graph_of

VERSIONS = 3
LARGE_NS = 10**9
needs_tvm = pytest.mark.skipif(not has_tvm(), reason="TVM is not installed: make test-compiled")


def compiled(path: Path, folder: Path, blocks: int = 1) -> CompiledModel:
    params = CompilationParams(
        LARGE_NS, blocks, VERSIONS, lanes=2, candidates=CandidateParams(most=4, rounds=1)
    )
    return compile_model(graph_of(path), folder / "made", params)


@pytest.mark.skipif(has_tvm(), reason="TVM is installed")
def test_without_tvm_it_is_said_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pip install 'surplus-engine\[compiled\]'"):
        compiled(bottleneck(tmp_path), tmp_path)


@needs_tvm
@pytest.mark.compiled
@pytest.mark.parametrize(("model", "blocks"), [(bottleneck, 1), (bottleneck, 2), (attention, 2)])
def test_versions_answer_as_onnx_runtime(tmp_path: Path, model: Any, blocks: int) -> None:
    path = model(tmp_path)
    made = compiled(path, tmp_path, blocks)
    assert len(made.blocks) == blocks
    assert any(len(set(layer.versions)) > 1 for layer in made.layers)
    place = places("cpu:2", [2])[0]
    plan = BasePlanParams(cache=tmp_path / "cache")
    live = loaded("m", path, place, LiveModelParams(blocks, plan=plan, manifest=made.manifest))
    # Loading compares each version, on one lane and on both, with ONNX Runtime; so here again.
    found = check_compiled(live, place)
    assert len(found) == blocks * VERSIONS * 2
    assert max(found.values()) < 1e-4
    answers: dict[int, Any] = {}
    inputs = {name: np.tile(array, (3, *[1] * (array.ndim - 1))) for name, array in
              live.example.items()}  # fmt: skip
    inputs["x"] = np.random.default_rng(3).standard_normal(inputs["x"].shape, np.float32)
    backend = EngineBackend(
        [live],
        [place],
        lambda query: inputs,
        lambda query, answer: answers.update({query.id: next(iter(answer.values()))}),
    )
    backend.prepare([Partition(0, 100, cores=2)])
    for version in range(VERSIONS + 1):
        for cores in (1, 2):
            number = 2 * version + cores
            pieces = (piece_of((Query(number, 0, number, 0, 0, 3),), 0, blocks),)
            backend.start(Group(0, 0, pieces, 0, 0, cores, version))
            assert [ended.error for ended in backend.wait(None)] == [""]
    wanted = answers[1]
    assert np.abs(wanted).max() > 0
    for answer in answers.values():
        np.testing.assert_allclose(answer, wanted, atol=1e-4 * np.abs(wanted).max())


@needs_tvm
@pytest.mark.compiled
def test_layers_share_the_target_of_the_whole_model(tmp_path: Path) -> None:
    """Those, too, whose blocks are left out."""
    graph = graph_of(attention(tmp_path))
    candidates = CandidateParams(most=1, rounds=1)
    params = CompilationParams(LARGE_NS, 3, 1, 1, most_layers=1, candidates=candidates)
    made = compile_model(graph, tmp_path / "made", params)
    whole = sum(map(operations_of, find_blocks(graph, 3)))
    assert len(made.blocks) == 1
    for layer in made.layers:
        assert layer.target_ns == LARGE_NS * layer.work.operations // whole


@needs_tvm
@pytest.mark.compiled
def test_the_command_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from surplus.engine.cli.main import main

    words = ["colocate", "compile", str(bottleneck(tmp_path)), "--target", "1s"]
    words += ["-o", str(tmp_path / "made"), "--candidates", "2", "--blocks", "1", "--lanes", "1"]
    assert main([*words, "--cache", str(tmp_path / "cache")]) == 0
    assert "1 blocks" in capsys.readouterr().out
    assert (tmp_path / "made" / "compiled.so").exists()
