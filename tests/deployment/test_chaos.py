"""The small of ``bench chaos``: every query of a deployment in trouble is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.chaos.accounts import Ending, Span, account_rows, faults
from bench.chaos.chaos_load import ChaosLoad
from bench.chaos.own_network import why_not
from bench.chaos.run import run_here

NOT_CUT = why_not()


def _endings(load: ChaosLoad, *others: tuple[int, str]) -> list[Ending]:
    """All right and at once, but for some."""
    outcomes = dict.fromkeys(range(load.queries), "right") | dict(others)
    send_ns = load.send_ns.tolist()
    return [
        Ending(number, send_ns[number], send_ns[number], outcome)
        for number, outcome in outcomes.items()
    ]


def _rows(load: ChaosLoad, endings: Sequence[Ending]) -> list[dict[str, object]]:
    middle_ns = int(load.send_ns[load.queries // 2])
    spans = [Span("first", 0, middle_ns), Span("second", middle_ns, int(load.send_ns[-1]))]
    return account_rows(load, 0, endings, spans)


def test_queries_are_counted_by_what_became_of_them() -> None:
    load = ChaosLoad(100, 10.0)
    sent_ns = int(load.send_ns[5])
    late = Ending(5, sent_ns, sent_ns + 300_000_000, "right")
    endings = _endings(load, (1, "UNAVAILABLE"), (3, "RESOURCE_EXHAUSTED"))
    endings[5] = late
    rows = _rows(load, endings)
    assert [(row["deed"], row["asked by"]) for row in rows] == [
        *(("first", "client"), ("second", "client"), ("first", "route"), ("second", "route")),
        ("all", "both"),
    ]
    (own,) = [row for row in rows if row["deed"] == "first" and row["asked by"] == "route"]
    assert (own["queries"], own["in time"], own["late"], own["refused"]) == (25, 22, 1, 1)
    assert (own["failed"], own["of which"]) == (1, "1 UNAVAILABLE")
    assert faults(rows, {"client": 50, "route": 48}, 48) == []


@pytest.mark.parametrize(
    ("dropped", "added", "answered", "said"),
    [
        ([7], [], {"client": 50, "route": 49}, "1 unaccounted"),
        ([], [Ending(6, 0, 1, "right")], {"client": 50, "route": 50}, "1 twice"),
        ([8], [Ending(8, 0, 1, "wrong [[2.0]]")], {"client": 50, "route": 50}, "1 wrong"),
        ([8], [Ending(8, 0, 1, "unnamed KeyError")], {"client": 49, "route": 50}, "1 unaccounted"),
        ([], [], {"client": 51, "route": 50}, "client: 51 answers came, 50 were told"),
    ],
)
def test_what_must_never_be_is_found(
    dropped: list[int], added: list[Ending], answered: dict[str, int], said: str
) -> None:
    load = ChaosLoad(100, 10.0)
    endings = [ending for ending in _endings(load) if ending.number not in dropped] + added
    assert faults(_rows(load, endings), answered, answered["route"]) == [said]


@pytest.mark.parametrize(
    "deeds",
    [
        ("kill", "freeze", "roll versions"),
        pytest.param(
            ("lose a node", "cut there", "cut back", "cut off"),
            marks=pytest.mark.skipif(bool(NOT_CUT), reason=NOT_CUT),
        ),
    ],
)
def test_no_query_is_unaccounted_for(
    deeds: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    load = ChaosLoad(400, 40.0)
    came = run_here(tmp_path, load, deeds, lambda *_: None, networks=not NOT_CUT)
    assert came.faults == []
    *each, total = came.rows
    assert [row["deed"] for row in each[: len(deeds)]] == list(deeds)
    assert all(row["times"] >= 1 for row in each)
    ended = [total[key] for key in ("in time", "late", "refused", "failed")]
    assert sum(ended) == total["queries"] == 400
    assert total["in time"] > total["failed"]
