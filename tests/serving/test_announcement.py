"""What a server says when it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.announcement import announce
from surplus.engine.serving.data_plane import DataPlane, DataPlaneParams
from tests.serving.fakes import identity


def test_a_model_that_was_lost_since_it_was_loaded_is_not_what_to_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = DataPlane(DataPlaneParams(1))
    ready = []
    for name in ("lost", "left"):
        model = plane.models.add(name)
        model.set_ready(identity())
        ready.append((RepositoryEntry(name, "1", tmp_path / f"{name}.onnx"), model))
    ready[0][1].set_unavailable("its device is lost")
    announce(ready, "127.0.0.1:8001", "127.0.0.1", None)
    said = capsys.readouterr().out
    assert "serving lost, left on 127.0.0.1:8001" in said
    assert "--model left" in said
    announce(ready[:1], "127.0.0.1:8001", "127.0.0.1", None)
    assert "query:" not in capsys.readouterr().out
