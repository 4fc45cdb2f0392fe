"""What bench neighbours makes of its rows."""

from __future__ import annotations

import pytest

from bench.neighbours.__main__ import BOUND, _bound, held
from bench.neighbours.mixes import MIXES
from bench.neighbours.picture import picture


def row(contender: str, load: float, misses: float) -> dict[str, object]:
    numbers = {"work in time s/s": load, "background /s": 10 - load, "p99 of the tightest ms": 5}
    said = {"mix": "m", "contender": contender, "load": load, "worst model's misses": misses}
    return {**said, **numbers}


def test_a_load_is_held_with_all_below_it() -> None:
    rows = [row("a", 3, 0.0), row("a", 1, 0.01), row("a", 4, 0.02), row("a", 5, 0.0)]
    rows += [row("b", 1, 0.5), row("b", 3, 0.0)]
    found = {r["contender"]: r["load held at 1% misses"] for r in held(rows)}
    assert found == {"a": 3, "b": 0.0}
    assert held(rows)[1]["load 3: background /s"] == 7


@pytest.mark.parametrize(("alone_ms", "expected"), [(0.01, 1.0), (100.0, 0.0)])
def test_the_bound_is_of_the_same_arrivals(alone_ms: float, expected: float) -> None:
    alone_ns = {stream.name: alone_ms * 1e6 for stream in MIXES["cameras"]}
    found = _bound("cameras", 1.0, 1, 4.0, alone_ns, poisson=True)
    assert found["contender"] == BOUND
    assert found["work in time s/s"] > 0
    assert held([found])[0]["load held at 1% misses"] == expected


def test_the_picture_has_a_curve_a_contender_and_the_bound_where_it_has_numbers() -> None:
    rows = [
        {
            "mix": mix,
            "load": load,
            "contender": how,
            "worst model's misses": "may be 0.01" if how == BOUND else 0.1 * load,
            "work in time s/s": load,
        }
        for mix in MIXES
        for load in (1.0, 3.0)
        for how in ("surplus", BOUND)
    ]
    drawn = picture(rows, "svg").decode()
    assert all(text in drawn for text in (*MIXES, "surplus", BOUND, "work in time"))
