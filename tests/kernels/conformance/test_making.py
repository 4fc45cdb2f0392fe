"""Tables are made in children: what ends one is not held, and others are asked on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from surplus.engine.errors import RuntimeLibraryError
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.background import BackgroundMaking
from surplus.engine.kernels.conformance.cases import all_cases
from surplus.engine.kernels.conformance.making import make_table

HELD = {str(kind): True for kind in Aspect}

_CHILD = f"""
import json, os, sys
question = json.loads(sys.stdin.readline())
for index in question["cases"]:
    print(json.dumps(dict(begun=index)), flush=True)
    if index in DEADLY: os._exit(3)
    held = dict.fromkeys({json.dumps(list(HELD))}, index not in WRONG)
    print(json.dumps(dict(done=index, held=held)), flush=True)
"""


def _child(deadly: Sequence[int] = (), wrong: Sequence[int] = ()) -> str:
    return f"DEADLY, WRONG = {list(deadly)}, {list(wrong)}\n{_CHILD}"


def test_an_operator_holds_where_all_of_its_cases_do() -> None:
    cases = all_cases()
    index = next(i for i, case in enumerate(cases) if case.operator == "Relu")
    another = next(i for i, case in enumerate(cases) if case.operator == "Selu")
    table = make_table("mine", "1", start=_child([index], [another]))
    for spoilt in (cases[index], cases[another]):
        for kind in Aspect:
            assert not table.holds(spoilt.operator, spoilt.types, kind)
    untouched = next(case for case in cases if case.operator == "Tanh")
    assert table.holds("Tanh", untouched.types, Aspect.FINITE)


def test_a_library_that_opens_nowhere_or_ends_every_child_has_no_table() -> None:
    refusing = 'import sys; sys.stdin.readline(); print(\'{"refused": "no such file"}\')'
    with pytest.raises(RuntimeLibraryError, match="no such file"):
        make_table("mine", "1", start=refusing)
    with pytest.raises(RuntimeLibraryError, match="ended 32 processes"):
        make_table("mine", "1", start=_child(range(len(all_cases()))))
    with pytest.raises(RuntimeLibraryError, match="ended with code 5"):
        make_table("mine", "1", start="import os; os._exit(5)")


def test_every_operator_is_asked_all_that_its_table_says() -> None:
    """Numbers that are not finite of what computes, sizes of what takes them."""
    asked: dict[str, set[Aspect]] = {}
    for case in all_cases():
        asked.setdefault(case.operator, set()).update(case.feeds)
        first = {name: array.shape for name, array in next(iter(case.feeds.values()))[0].items()}
        for feeds in case.feeds.values():
            for feed in feeds:
                assert {name: array.shape for name, array in feed.items()} == first
    counts = Counter(case.operator for case in all_cases())
    assert len(counts) > 110
    for operator in ("Relu", "Softmax", "ReduceMax", "TopK", "MaxPool", "Clip", "Greater"):
        assert Aspect.SPECIAL in asked[operator]
    for operator in ("Tile", "Expand", "Slice", "Reshape", "TopK", "ReduceSum", "OneHot"):
        assert Aspect.SIZES in asked[operator]


def test_one_child_makes_a_table_in_the_background_and_ends_with_its_process(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "begun"
    os.mkfifo(pipe)
    start = f"""
import sys
with open({str(pipe)!r}, "w") as file: file.write(" ".join(sys.argv[1:]))
sys.stdin.read()
"""
    making = BackgroundMaking(0.0, start)
    assert making.begin("mine", "1.2")
    assert not making.begin("mine", "1.2")
    assert pipe.read_text() == "mine 1.2"
    making.end()
    assert not making.begin("another", "1")


def test_a_frozen_program_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert not BackgroundMaking(0.0, "").begin("mine", "1")
