"""A cache that cannot be written costs the cache, not the run."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg import onnx_reader
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import DeviceError, ModelError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.store import segments as segment_store
from tests.constant_costs import constant_problem, scattered_plan
from tests.robustness.full_disk import refuse_writes

SMALL: dict[str, Any] = {"branches": 4, "depth": 2, "size": 64, "kind": "matmul"}
NUMBERS = [errno.EROFS, errno.ENOSPC]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return models.save(models.build("fork_join", **SMALL), tmp_path / "fork_join.onnx")


@pytest.fixture
def inputs() -> dict[str, Any]:
    return dict(models.example_inputs("fork_join", **SMALL))


def _load(path: Path, inputs: dict[str, Any], **more: Any) -> PlannedModel:
    options: dict[str, Any] = {"selection_s": 0, "cache": path.parent / "cache"} | more
    return load_planned(path, "cpu:2", inputs=inputs, **options)


def _cut(graph: Graph) -> PlannedModel:
    """Every task a segment of its own, some on another device."""
    specs = parse_devices("cpu:1,emulated:gpu")
    plan = scattered_plan(graph, constant_problem(graph, specs), seed=2)
    return PlannedModel(graph, plan, machine_for(specs))


@pytest.mark.parametrize("number", NUMBERS)
def test_an_empty_cache(
    path: Path,
    inputs: dict[str, Any],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    right = _load(path, inputs, cache=path.parent / "good").run(inputs)
    tried = refuse_writes(monkeypatch, path.parent / "cache", number)
    with caplog.at_level(logging.WARNING):
        answer = _load(path, inputs).run(inputs)
    assert tried
    assert "not cached" in caplog.text
    assert all(np.array_equal(answer[name], right[name]) for name in right)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_cache_with_nothing_but_the_graph(
    path: Path,
    inputs: dict[str, Any],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Segments, times and plans must go elsewhere."""
    graph = read_model(path, path.parent / "cache")
    before = sorted(graph.folder.iterdir())
    refuse_writes(monkeypatch, path.parent / "cache", number)
    with caplog.at_level(logging.WARNING):
        assert _load(path, inputs).run(inputs)
        assert _cut(graph).run(inputs)
    assert "segments are kept in" in caplog.text
    assert "the plan is not stored" in caplog.text
    there = {file for file in graph.folder.iterdir() if file.name != "in-use.lock"}
    assert sorted(there) == before


def test_tuning_without_a_cache(
    path: Path, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_model(path, path.parent / "cache")
    refuse_writes(monkeypatch, path.parent / "cache", errno.EROFS)
    assert _load(path, inputs, tune_s=0.3).run(inputs)


def test_weights_are_copied_where_they_cannot_be_linked(
    path: Path, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    graph = read_model(path, path.parent / "cache")
    refuse_writes(monkeypatch, path.parent / "cache", errno.EROFS)
    monkeypatch.setattr(os, "link", refuse)
    assert _cut(graph).run(inputs)


def test_nothing_can_be_written_anywhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = read_model(path, path.parent / "cache")
    refuse_writes(monkeypatch, Path("/"), errno.ENOSPC)
    with pytest.raises(DeviceError, match="cannot write the segment"):
        segment_store.stored(graph, "segment-x.onnx", lambda: b"")
    with pytest.raises(ModelError, match=r"cannot store the optimised model: .*No space left"):
        read_model(path, path.parent / "other")


def test_a_database_that_cannot_be_written(
    path: Path, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    assert _load(path, inputs).run(inputs)
    assert "measured times are not stored" in caplog.text


def test_a_full_disk_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = path.parent / "cache"
    refuse_writes(monkeypatch, cache, errno.ENOSPC)
    graph = read_model(path, cache)
    assert not graph.folder.is_relative_to(cache)
    assert list(cache.iterdir()) == []
    assert onnx_reader.read(path, cache).source_hash == graph.source_hash
