"""``engine study``: made-up and stored problems, tables, JSON, pictures, clear errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surplus.placement.families import family_problem
from tests.cli.calls import Command

SMALL = ("--families", "detector,inception", "--tasks", "60", "--seeds", "1")


def test_a_line_a_policy(engine: Command) -> None:
    called = engine("study", *SMALL, "--policies", "single,heft")
    assert called.status == 0
    assert "2 problems, makespan over the lower bound" in called.out
    assert all(name in called.out for name in ("single", "heft"))


def test_rows_as_json_and_a_page_of_them(engine: Command, tmp_path: Path) -> None:
    page = tmp_path / "study.html"
    called = engine("study", *SMALL, "--policies", "single,heft", "--json", "--plot", page)
    document = called.json()
    assert document["format"] == "surplus-study/1"
    assert {(row["family"], row["policy"]) for row in document["rows"]} == {
        (family, policy) for family in ("detector", "inception") for policy in ("single", "heft")
    }
    assert all(row["makespan_ns"] >= row["bound_ns"] for row in document["rows"])
    text = page.read_text()
    shown = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert shown["rows"] == document["rows"]


def test_a_picture_of_performance_profiles(engine: Command, tmp_path: Path) -> None:
    plot = tmp_path / "profiles.svg"
    assert engine("study", *SMALL, "--policies", "single,heft", "--plot", plot).status == 0
    assert b"factor of the best policy" in plot.read_bytes()


def test_stored_problems(engine: Command, tmp_path: Path) -> None:
    for seed in range(2):
        problem = family_problem("layered", 20, seed)
        (tmp_path / f"p{seed}.json").write_text(problem.to_json())
    rows = engine("study", "--problems", tmp_path, "--policies", "heft", "--json").json()["rows"]
    assert [row["problem"] for row in rows] == ["p0", "p1"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--policies", "fast"), "unknown policy 'fast'"),
        (("--policies", ","), "at least one is needed"),
        (("--families", "nets"), "unknown family 'nets'"),
        (("--tasks", "many"), "--tasks must be whole numbers"),
        (("--seeds", "0"), "--seeds must be >= 1"),
        (("--plot", "study.txt"), "the suffix of a chart must be"),
        (("--problems", "nowhere"), "there is no problem"),
    ],
)
def test_wrong_options_are_one_clear_line(
    engine: Command, asked: tuple[str, str], words: str
) -> None:
    called = engine("study", *asked)
    assert called.is_one_clear_line()
    assert words in called.err
