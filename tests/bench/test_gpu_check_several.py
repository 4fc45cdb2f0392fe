"""Which GPUs the check takes, and what it says of one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.units import several_gpus


def devices(text: str, folder: Path) -> list[str]:
    found = several_gpus.all_gpus(Setting(text, folder, folder, 1))
    return [spec.text for spec in found]


def driver_of(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    driver = SimpleNamespace(gpus=["a GPU"] * count)
    monkeypatch.setattr(several_gpus, "read_driver", lambda: driver)


def test_all_that_the_driver_sees_are_as_the_one_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver_of(monkeypatch, 3)
    assert devices("cpu:8,cuda:0:4", tmp_path) == ["cpu:8", "cuda:0:4", "cuda:1:4", "cuda:2:4"]
    assert devices("cpu:8,cuda:1[tf32]:2", tmp_path) == [
        "cpu:8",
        "cuda:1[tf32]:2",
        "cuda:0[tf32]:2",
        "cuda:2[tf32]:2",
    ]


def test_a_rehearsal_has_two_emulated_ones(tmp_path: Path) -> None:
    assert devices("cpu:1,emulated:gpu[t4,replay]:4", tmp_path) == [
        "cpu:1",
        "emulated:gpu[t4,replay]:4",
        "emulated:gpu1[t4,replay]:4",
    ]


def test_one_gpu_is_told_and_nothing_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver_of(monkeypatch, 1)
    found = several_gpus.measure(
        ModelSpec("no such model"), Setting("cpu:8,cuda:0:4", tmp_path, tmp_path, 1)
    )
    (row,) = found.figures
    assert (row.what, row.value, row.met) == ("GPUs", 1, None)
