"""Compiled versions of a model's groups: found, checked, switched live by version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.compiled_check import check_compiled
from surplus.engine.scheduling.live_model import LiveModelParams
from surplus.engine.scheduling.setting_up import loaded, places
from tests.scheduling.compiled_stage import Served, artifact, manifest, mlp, runs_of, two_versions


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path, two_versions(tmp_path))


@pytest.mark.parametrize("cores", [1, 2])
def test_versions_are_switched_live_and_answer_alike(served: Served, cores: int) -> None:
    for number, ran in enumerate([(0, 0), (1, 0), (0, 1), (1, 0)]):
        version = {(0, 0): 0, (1, 0): 1, (0, 1): 2}[ran]
        counts, answer = runs_of(served, number, version, cores)
        assert counts == ran
        _, wanted = runs_of(served, number, 0, cores)
        np.testing.assert_allclose(answer, wanted, rtol=1e-5, atol=1e-5)


def test_a_version_that_there_is_not_runs_as_the_last_one(served: Served) -> None:
    assert runs_of(served, 0, 7)[0] == (0, 1)


def test_version_0_replaces_the_session_for_everybody(tmp_path: Path) -> None:
    path = manifest(tmp_path, artifact("gemm_narrow", 0))
    served = Served(tmp_path, path)
    assert served.model.versions == 1
    assert runs_of(served, 0, 0)[0] == (1, 0)


def test_a_whole_model_may_be_cut_around_its_blocks(tmp_path: Path) -> None:
    """Tasks of the block are a group of their own; all groups at once run compiled, too."""
    served = Served(tmp_path, two_versions(tmp_path), groups=4)
    tasks = list(served.model.parts.grouped.tasks)
    assert tasks == list(range(len(served.model.graph.tasks)))
    compiled = served.model.parts.compiled
    assert compiled is not None
    (block,) = compiled.blocks
    own = tuple(range(block.first, block.end))
    assert own in [s.tasks for s in served.model.parts.grouped.plan.segments]
    part = served.model.parts.part(0, 4, served.place, version=1)
    assert len(part.native.node_names) == 4


def test_what_is_compiled_is_compared_with_onnx_runtime(served: Served) -> None:
    found = check_compiled(served.model, served.place)
    assert [(a.version, a.width) for a in found] == [(1, 1), (2, 1), (2, 2)]
    assert all(off < 1e-5 for off in found.values())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        # A function that answers wrongly, fails, lies about its shape, or is none.
        (("gemm_inexact",), "'gemm_inexact' of .*libblocks.so differs from ONNX Runtime by"),
        (("gemm_failing",), "'gemm_failing' of .*libblocks.so failed: out of luck"),
        (("gemm_too_large",), "its output 0 has type 1"),
        (("of_tomorrow",), "of version 3 of the interface"),
        (("absent",), "symbol 'absent' is not there"),
        (("gemm_narrow", {"constants": '["w2"]'}), "has 3 inputs, the segment 2"),
        (("gemm_narrow", {"constants": '["b2", "w2"]'}), "wants x"),
        (("gemm_narrow", {"library": '"gone.so"'}), "gone.so"),
        # A block that the model does not have.
        (("gemm_narrow", {"inputs": '["nothing"]'}), "no tensor 'nothing'"),
        (("gemm_narrow", {"inputs": '["w2"]'}), "no tensor 'w2' .it is a constant"),
        (("gemm_narrow", {"constants": '["h1", "b2"]'}), "no constant 'h1'"),
        (("gemm_narrow", {"inputs": '["x"]', "outputs": '["x"]'}), "needs 'x'"),
        (("gemm_narrow", {"inputs": '["h2"]'}), "needs 'x', which is not among its inputs"),
        (("gemm_narrow", {"inputs": '["h1", "x"]'}), "reads h1, not h1, x"),
        (
            ("gemm_narrow", {"outputs": '["h2", "s2"]'}),
            "makes for others h2, not",
        ),
        # A file that is wrong.
        (("gemm_narrow", {"inputs": "[]"}), "inputs: expected `array` of length >= 1"),
        (("gemm_narrow", {"inputs": '["h1", "h1"]'}), "inputs must be different names"),
        (("gemm_narrow", {"tolerance": "-1"}), "tolerance: expected `float` >= 0"),
        (("gemm_narrow", {"width": "0"}), "width: expected `int` >= 1"),
        (("gemm_narrow", {"version": "2"}), "no artifact of version 1"),
        (("gemm_narrow", {"speed": "2"}), "'speed' is unknown"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, row: tuple[Any, ...], message: str) -> None:
    changes: dict[str, str] = row[1] if len(row) > 1 else {}
    with pytest.raises(ConfigError, match=message):
        Served(tmp_path, manifest(tmp_path, artifact(row[0], **changes)))


@pytest.mark.parametrize(
    ("head", "count", "message"),
    [
        ('model = "00"', 1, "for the model of SHA-256 00, not"),
        ("sensitivities = [1]", 1, "must be 2 numbers"),
        ("sensitivities = [1, -1]", 1, r"sensitivities\[1\]: expected `float` >= 0"),
        ("nonsense = 1", 1, "'nonsense' is unknown"),
        ("", 2, "version 1 of width 1 of its block is 'gemm_narrow'"),
        ("", 0, "missing required field `artifact`"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    tmp_path: Path, head: str, count: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        Served(tmp_path, manifest(tmp_path, *[artifact("gemm_narrow")] * count, head=head))
    assert "compiled.toml" in str(refused.value)


def test_blocks_that_overlap_and_cuts_that_leave_no_group_are_refused(tmp_path: Path) -> None:
    wider = artifact("gemm_narrow", 1, inputs='["x"]', constants='["w1", "b1"]')
    with pytest.raises(ConfigError, match="overlap"):
        Served(tmp_path, manifest(tmp_path, artifact("gemm_narrow"), wider))
    path = two_versions(tmp_path)
    with pytest.raises(ConfigError, match=r"2 groups .* 3 to 5 are possible"):
        Served(tmp_path, path, groups=2)
    with pytest.raises(ConfigError, match="No such file"):
        Served(tmp_path, tmp_path / "missing.toml")


def test_a_width_that_the_device_lacks_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = manifest(tmp_path, artifact("gemm_inexact", 1, 3), artifact("gemm_narrow", 1))
    served = Served(tmp_path, path)
    assert "'gemm_inexact' of" in caplog.text
    assert runs_of(served, 0, 1, 2)[0] == (1, 0)


def test_compiled_versions_are_for_cpus(tmp_path: Path) -> None:
    place = places("emulated:gpu:2", [2])[0]
    params = LiveModelParams(
        3, plan=BasePlanParams(cache=tmp_path / "cache"), manifest=two_versions(tmp_path)
    )
    with pytest.raises(ConfigError, match="run on CPUs only"):
        loaded("mlp", mlp(tmp_path), place, params)
