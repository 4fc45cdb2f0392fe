"""What the status page draws of a recording."""

from __future__ import annotations

from typing import Any

import pytest

from surplus.engine.explain.flights import LaneKind
from surplus.engine.serving import timeline
from tests.explain.recordings import Recording, card


def drawn(monkeypatch: pytest.MonkeyPatch, recording: Recording) -> Any:
    monkeypatch.setattr(timeline, "open_machines", lambda: [None])
    monkeypatch.setattr(timeline.flight_log, "flights", lambda *_: recording.flights)
    (machine,) = timeline.document(1.0)["machines"]
    return machine


def test_each_span_has_its_lane_its_time_and_how_wide_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = Recording([card(1, "vad", "a", "b"), card(2, "net", "whole", width=2)], lanes=2)
    recording.ran(1, 1, (100, 200), (250, 300))
    recording.ran(2, 2, (400, 900), lane=1)
    recording.ran(1, 3, (500, 600), kind=LaneKind.BORROWED)
    machine = drawn(monkeypatch, recording)
    assert machine["devices"] == [{"name": "cpu", "lanes": 2}]
    names = [
        (machine["models"][model], machine["segments"][segment], *told)
        for *told, model, segment, _ in machine["spans"]
    ]
    assert names == [
        ("vad", "a", 0, "lane", 0, 100, 100),
        ("vad", "b", 0, "lane", 0, 250, 50),
        ("net", "whole", 0, "lane", 1, 400, 500),
        ("vad", "a", 0, "lent", 0, 500, 100),
    ]
    assert [span[7] for span in machine["spans"]] == [1, 1, 2, 1]


def test_a_plan_that_is_not_known_any_more_has_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording([])
    recording.ran(7, 1, (100, 200))
    machine = drawn(monkeypatch, recording)
    assert machine["segments"] == ["segment 0"]
    assert machine["spans"][0][7] == 1


def test_nothing_that_ran_is_nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Recording([]))["spans"] == []


def test_only_the_last_ones_are_drawn_and_time_begins_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = Recording([card(1, "vad", "a")], now_ns=10_000_000)
    for i in range(timeline.MOST_SPANS + 10):
        recording.ran(1, i, (1000 + 10 * i, 1005 + 10 * i))
    machine = drawn(monkeypatch, recording)
    assert len(machine["spans"]) == timeline.MOST_SPANS
    assert machine["since_ns"] == 1100
    assert machine["spans"][0][3] == 0
