"""``python -m bench`` runs every bench that the docs name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import TABLES, runnable

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"python -m bench ([a-z_]+)|`bench ([a-z_]+)")


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *words]
    environment = {**os.environ, "SURPLUS_BENCH_UNCOMMITTED": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_every_bench_that_is_named_runs() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile"]
    named = {
        name for page in pages for pair in NAMED.findall(page.read_text()) for name in pair if name
    }
    assert len(named) > 20
    assert named - runnable().keys() == set()
    assert set(TABLES) <= runnable().keys()


def test_what_there_is_is_listed_with_what_it_does() -> None:
    lines = bench("--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(runnable())
    assert all(len(line.split()) > 3 for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none_such"], "no bench 'none_such'; there are: abacus_"),
        (["timing"], "no bench 'timing'"),
        (["placement_evaluator", "--quick"], "--quick: placement_evaluator takes no options"),
        (["size", "memory", "--quick"], "--quick: options are for one bench, not 2"),
    ],
)
def test_what_cannot_be_run_is_refused(words: list[str], said: str) -> None:
    done = bench(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_options_are_the_benchs_own() -> None:
    done = bench("fuzz_models", "--help")
    assert done.returncode == 0
    assert "--seed" in done.stdout


def test_one_without_options_says_what_it_does_and_runs_not() -> None:
    done = bench("placement_evaluator", "--help")
    assert done.returncode == 0
    assert "placements a second" in done.stdout
    assert "|" not in done.stdout


def test_words_behind_a_name_are_the_benchs_own() -> None:
    done = bench("models_cpu", "no_such_model")
    assert done.returncode == 1
    assert "no model 'no_such_model'" in done.stderr
