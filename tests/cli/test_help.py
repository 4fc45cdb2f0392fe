"""Help explains every option, and shows an example."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from surplus.engine.cli import main
from surplus.engine.cli.main import _parser

WIDTH = 100


def _verbs(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield verb
                yield from _verbs(verb)


VERBS = list(_verbs(_parser()))


def _name(parser: argparse.ArgumentParser) -> str:
    return parser.prog


def test_all_verbs_are_there() -> None:
    names = {parser.prog.split()[1] for parser in VERBS}
    offline = {
        "inspect",
        "profile",
        "place",
        "optimum",
        "study",
        "models",
        "convert",
        "tune",
        "memory",
        "cache",
        "plans",
        "token",
    }
    assert names == offline | {
        "adopt",
        "run",
        "serve",
        "route",
        "deploy",
        "simulate",
        "capacity",
        "colocate",
        "devices",
        "health",
        "top",
        "trace",
    }


@pytest.mark.parametrize("parser", VERBS, ids=_name)
def test_help_of_a_verb(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    assert "``" not in text
    assert f"example:\n  {parser.prog}" in text
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize("parser", VERBS, ids=_name)
def test_every_option_is_explained(parser: argparse.ArgumentParser) -> None:
    actions = (a for a in parser._actions if not isinstance(a, argparse._SubParsersAction))
    assert [action.dest for action in actions if not action.help] == []


def test_overview_names_every_verb() -> None:
    text = _parser().format_help()
    assert all(f"    {parser.prog.split()[1]} " in text for parser in VERBS)


def test_a_verb_that_is_asked_for_is_the_only_one_to_be_imported() -> None:
    code = (
        "import json, sys; from surplus.engine.cli.main import main;"
        " status = main(['-v', 'inspect', 'missing.onnx']); print(json.dumps([*sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout.splitlines()[-1]))
    assert {f"surplus.engine.cli.{verb}" for verb in main.VERBS} & modules == {
        "surplus.engine.cli.inspect"
    }


def test_words_that_ask_for_no_verb_get_to_know_all() -> None:
    for words in ([], ["-h", "serve"], ["--help"], ["unheard"], ["--verb"]):
        assert len(list(_verbs(_parser(words)))) == len(VERBS)
