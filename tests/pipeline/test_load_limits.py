"""The limits of loads and queries that a model is loaded with."""

from __future__ import annotations

import threading
from pathlib import Path

import onnx
import pytest

import surplus
from surplus.engine.errors import ConfigError, DeadlineError
from surplus.engine.pipeline import making
from surplus.engine.planning.load_params import LoadParams
from tests.loops import COUNT, ENDLESS, counted


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(COUNT), tmp_path / "count.onnx")
    return tmp_path / "count.onnx"


@pytest.mark.parametrize("tune", ["now", "background"])
@pytest.mark.parametrize("devices", ["cpu:1", "cpu:2"])
def test_a_query_ends_at_the_limit_that_its_model_was_loaded_with(
    tune: str, devices: str, path: Path
) -> None:
    options = {"cache": path.parent / "cache", "tune": tune, "max_query_s": 0.05}
    for _ in range(2):  # the second time from the stored plan, where there is one
        model = surplus.load(path, devices, inputs=counted(3), **options)
        with pytest.raises(DeadlineError, match="longer than its limit of 50 ms"):
            model.run(counted(ENDLESS))
        with pytest.raises(DeadlineError, match="longer than its limit of 50 ms"):
            model.submit(counted(ENDLESS)).result()
        assert model.run(counted(4))["y"] == [4]


def test_both_are_on_by_default_and_off_by_0() -> None:
    assert LoadParams().max_load_s > 0
    assert LoadParams().query_limit_ns() > 0
    assert LoadParams(max_load_s=0, max_query_s=0).query_limit_ns() == 0


@pytest.mark.parametrize("name", ["max_load_s", "max_query_s"])
@pytest.mark.parametrize("value", [-1, float("nan"), 1e12])
def test_out_of_range(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be 0 to"):
        LoadParams(**{name: value})


def test_tuning_has_its_own_time(path: Path) -> None:
    options = {"cache": path.parent / "cache", "max_load_s": 30.0}
    model = surplus.load(path, "cpu:1", inputs=counted(3), tune_s=0.5, **options)
    assert model.run(counted(4))["y"] == [4]


def test_a_load_that_hangs_does_not_keep_others_from_measuring(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(making, "_MOST_WAIT_S", 0.0)
    answers: list[int] = []

    def load() -> None:
        model = surplus.load(path, "cpu:1", inputs=counted(3), cache=path.parent / "c", tune="now")
        answers.extend(model.run(counted(4))["y"])

    with making._measuring():  # and hangs
        other = threading.Thread(target=load, daemon=True)
        other.start()
        other.join(60)
        assert answers == [4]
        assert "another model has been measured for 0 s" in caplog.text
        assert making._MEASURING.locked()
    assert not making._MEASURING.locked()
