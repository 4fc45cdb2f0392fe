"""What a conformance table says, and whose word is taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.instruction_set import instruction_set
from surplus.engine.kernels.conformance.table import (
    ConformanceTable,
    find_table,
    keep_table,
    made_file,
)

TABLE = ConformanceTable(
    "mine", "1.2", instruction_set(), {"Relu": {"float32->float32": ["finite"]}}
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_was_not_seen_to_hold_does_not() -> None:
    assert TABLE.holds("Relu", "float32->float32", Aspect.FINITE)
    assert not TABLE.holds("Relu", "float32->float32", Aspect.SPECIAL)
    assert not TABLE.holds("Relu", "float16->float16", Aspect.FINITE)
    assert not TABLE.holds("Selu", "float32->float32", Aspect.FINITE)


def test_one_that_was_made_here_is_found_by_its_version() -> None:
    assert find_table("mine", "1.2") is None
    keep_table(TABLE)
    assert find_table("mine", "1.2") == TABLE
    assert find_table("mine", "1.3") is None
    assert find_table("another", "1.2") is None


def test_another_edition_and_what_is_damaged_are_none() -> None:
    file = keep_table(TABLE)
    for text in (TABLE.to_json().replace('"edition": 1', '"edition": 0'), "{}", "[1]", "no JSON"):
        file.write_text(text)
        assert find_table("mine", "1.2") is None


def test_one_that_others_may_write_is_not_trusted() -> None:
    file = keep_table(TABLE)
    file.chmod(0o666)
    assert find_table("mine", "1.2") is None


def test_a_digest_is_of_what_it_says() -> None:
    assert TABLE.digest == replace(TABLE).digest
    assert TABLE.digest != replace(TABLE, operators={}).digest
    assert made_file("mine", "1.2").name == f"mine-1.2-{instruction_set()}.json"
