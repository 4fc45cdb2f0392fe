"""Graphs that would outgrow memory are refused while they are built."""

from __future__ import annotations

import pytest

from surplus import models
from surplus.models import room


def test_a_graph_of_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_NODES", 14)
    assert len(models.build("fork_join", branches=4, depth=3).graph.node) == 14
    with pytest.raises(ValueError, match="these parameters the graph has more than 14 nodes"):
        models.build("fork_join", branches=4, depth=4)


def test_weights_that_are_more_than_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = models.build("chain", kind="matmul", length=3, size=100)
    needed = sum(len(tensor.raw_data) for tensor in weights.graph.initializer)
    monkeypatch.setattr(room, "available_bytes", lambda: needed / 0.79)
    models.build("chain", kind="matmul", length=3, size=100)
    with pytest.raises(ValueError, match=r"take more than the 0\.0001\d* GB of memory"):
        models.build("chain", kind="matmul", length=4, size=100)


def test_there_is_memory() -> None:
    assert 10**7 < room.available_bytes() <= 2**62
