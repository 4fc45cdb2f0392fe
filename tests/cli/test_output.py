from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path

import pytest

from surplus.engine.atomic_file import write_atomic
from surplus.engine.cli.options import pairs, sizes
from surplus.engine.cli.output import (
    check_chart,
    check_outputs,
    check_plot,
    duration,
    show_json,
    show_rows,
    three_digits,
)
from surplus.engine.errors import ConfigError


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ns"),
        (950, "950 ns"),
        (1_000, "1.00 µs"),
        (12_340, "12.3 µs"),
        (1_234_000, "1.23 ms"),
        (999_000_000, "999 ms"),
        (61_500_000_000, "61.5 s"),
        (-2_000_000, "-2.00 ms"),
    ],
)
def test_duration(time_ns: float, text: str) -> None:
    assert duration(time_ns) == text


@pytest.mark.parametrize(
    ("value", "text"), [(12, "12"), (0.0, "0"), (0.01234, "0.0123"), (1234.5, "1234")]
)
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


def test_json_without_infinities(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"a": math.inf, "b": [math.nan, 1.5]})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5]}


def test_pairs_are_typed() -> None:
    rows = ["a=1", "b=1.5", "c=true", "d=rank", "e=1,2", "f=x=y"]
    expected = {"a": 1, "b": 1.5, "c": True, "d": "rank", "e": (1, 2), "f": "x=y"}
    assert pairs(rows) == expected


def test_sizes() -> None:
    assert sizes(["batch=8", "n=0"]) == {"batch": 8, "n": 0}


@pytest.mark.parametrize("row", ["batch", "=1", "batch=", "batch=-1", "batch=1.5", "batch=x"])
def test_wrong_sizes(row: str) -> None:
    with pytest.raises(ValueError, match=r"expected KEY=VALUE|--dim batch: expected a size"):
        sizes([row])


def test_outputs_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "old.json").touch()
    check_outputs(tmp_path / "new.json", tmp_path / "old.json", None)
    check_chart(tmp_path / "g.PNG")
    check_plot(tmp_path / "p.svg")


def test_charts_that_nothing_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"suffix of a chart must be \.html, \.svg or \.png"):
        check_plot(tmp_path / "p.pdf")
    with pytest.raises(ConfigError, match=r"suffix of a Gantt chart must be \.html, \.htm or"):
        check_chart(tmp_path / "p.svg")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    check_chart(tmp_path / "g.html")
    for check, name in ((check_chart, "g.png"), (check_plot, "p.html")):
        with pytest.raises(ConfigError, match=r"needs matplotlib: pip install 'surplus-engine"):
            check(tmp_path / name)


class Closed(io.StringIO):
    """A pipe whose reader went away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_is_told_and_no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        show_rows("title", [{"a": 1}])


def test_what_cannot_be_written_is_named_by_its_own_path(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file or directory: '.*/gone/p\.html'"):
        write_atomic(tmp_path / "gone" / "p.html", b"")


def test_a_device_file_is_not_replaced() -> None:
    with pytest.raises(ConfigError, match="/dev/null: exists and is not a regular file"):
        check_outputs(Path("/dev/null"))
