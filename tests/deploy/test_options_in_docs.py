"""Options that documents tell of are the command's own."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from surplus.engine.cli.main import _parser

DOCS = Path(__file__).parents[2] / "docs" / "how_to"


def _options(verb: str) -> set[str]:
    parser = _parser([verb])
    verbs = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {word for action in verbs.choices[verb]._actions for word in action.option_strings}


def _told(name: str) -> list[str]:
    """Of the last column of the table of options."""
    _, _, table = (DOCS / name).read_text().partition("## Option by option")
    rows = [row.rsplit("|", 2)[1] for row in table.splitlines() if row.startswith("|")]
    return [word for row in rows for word in re.findall(r"`(--[\w-]+)", row)]


def test_options_for_who_comes_from_triton_are_there() -> None:
    told = _told("from_triton.md")
    assert len(told) > 20
    assert set(told) - _options("serve") == set()


PAGES = ("from_triton.md", "tokens.md", "deploy.md", "deploy_cluster.md", "repository.md")


@pytest.mark.parametrize("name", PAGES)
def test_commands_have_options_that_are_there(name: str) -> None:
    text = (DOCS / name).read_text()
    verbs = "serve|deploy|token|health|top|trace"
    commands = re.findall(rf"^engine ({verbs}) (.*)$", text, re.MULTILINE)
    assert commands
    for verb, words in commands:
        asked = set(re.findall(r"(?<!\S)(--[\w-]+)", words.partition("#")[0]))
        assert asked - _options(verb) == set(), f"{name}: engine {verb} {words}"
