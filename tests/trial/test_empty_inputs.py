"""Queries with an empty dimension: refused where they end a process, answered elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import InputError
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.trial import empty_inputs
from tests.trial import fatal_models


def _load(make: Callable[[Path], Path], folder: Path) -> PlannedModel:
    return load_planned(
        make(folder / "model.onnx"),
        "cpu:1",
        cache=folder / "cache",
        tune="now",
        selection_s=0,
        crash_probe=True,
    )


def _zeros(**shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}


LSTM = partial(fatal_models.recurrent, "LSTM", 4)
GRU = partial(fatal_models.recurrent, "GRU", 3)
FATAL = {
    "LSTM": (LSTM, _zeros(x=(3, 0, 5)), "input 'x': dimension 1 is empty"),
    "GRU": (GRU, _zeros(x=(3, 0, 5)), "input 'x': dimension 1 is empty"),
    "GRU, no time": (GRU, _zeros(x=(0, 2, 5)), "input 'x': dimension 0 is empty"),
}

WAYS: dict[str, Callable[[PlannedModel, dict[str, Any]], Any]] = {
    "run": PlannedModel.run,
    "submit": lambda model, query: model.submit(query).result(),
    "infer": lambda model, query: asyncio.run(model.infer(query)),
}


@pytest.mark.parametrize("name", FATAL)
def test_a_query_that_ends_a_process_is_refused(name: str, tmp_path: Path) -> None:
    make, query, message = FATAL[name]
    model = _load(make, tmp_path)
    for way in ("run", "submit", "infer"):
        with pytest.raises(InputError, match=rf"{message}.*it ends its process \(SIGABRT\)"):
            WAYS[way](model, query)
    full = {key: np.zeros([max(1, n) for n in a.shape], np.float32) for key, a in query.items()}
    assert model.run(full)["y"].size


def test_a_query_that_never_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(empty_inputs, "_LIMIT_S", 2.0)
    model = _load(fatal_models.convolution, tmp_path)
    with pytest.raises(InputError, match=r"'w': dimension 2 is empty.*not ended after 2 s"):
        model.run(_zeros(x=(1, 3, 8, 8), w=(4, 3, 0, 3)))


@pytest.mark.parametrize("way", WAYS)
def test_plain_operators_take_empty_dimensions(way: str, tmp_path: Path) -> None:
    model = _load(fatal_models.plain, tmp_path)
    for shape in ((0, 2, 4), (2, 0, 4), (0, 0, 4)):
        assert WAYS[way](model, _zeros(x=shape))["y"].shape == (*shape[:2], 3)


def test_what_was_found_out_is_kept_by_model_and_dimension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _load(fatal_models.plain, tmp_path).run(_zeros(x=(0, 2, 4)))
    tried: list[dict[str, Any]] = []
    monkeypatch.setattr(
        empty_inputs, "_tried", lambda model, query: tried.append(dict(query)) or ""
    )
    again = _load(fatal_models.plain, tmp_path)
    again.run(_zeros(x=(0, 7, 4)))  # known from before, whatever the other sizes
    assert not tried
    for _ in range(2):
        again.run(_zeros(x=(2, 0, 4)))
    assert [query["x"].shape for query in tried] == [(2, 0, 4)]


def test_trials_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(empty_inputs, "_MOST_TRIALS", 1)
    model = _load(fatal_models.plain, tmp_path)
    assert model.run(_zeros(x=(0, 2, 4)))["y"].size == 0
    with pytest.raises(InputError, match=r"'x': dimension 1 is empty.*not tried"):
        model.run(_zeros(x=(2, 0, 4)))
