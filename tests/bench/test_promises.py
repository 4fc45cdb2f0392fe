"""Contenders of bench promises that are ours: what they answer, and what they refuse."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from bench.promises import contender
from surplus import models

OURS = [how for how in contender.HOW if how.startswith("surplus")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a network that stands for both models."""
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    inputs = models.example_inputs("lenet")
    monkeypatch.setattr(contender, "model_of", lambda name: (path, inputs))
    return tmp_path / "cache"


@pytest.mark.parametrize("how", OURS)
def test_what_has_time_is_answered_and_what_has_none_refused(how: str, folder: Path) -> None:
    async def use() -> None:
        answering: Any = contender.HOW[how](folder)
        await answering.ask_light()
        await answering.ask(2**62)
        if isinstance(answering, contender.Engine):
            answering.be_due(1e-5)
        if how == "surplus, late served":
            await answering.ask(1)
            return
        with pytest.raises(contender.Refused):
            await answering.ask(time.monotonic_ns() + 10)

    asyncio.run(use())


def test_a_policy_is_one_of_them() -> None:
    assert "surplus, edf_drop" in OURS
