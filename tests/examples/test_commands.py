"""Every command in README and docs: verbs parse, benches, targets, scripts and files are there.

Those of the quickstart run for real; a line that nothing here knows fails.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.__main__ import runnable
from surplus.engine.cli.main import VERBS, _parser, main
from surplus.loadgen.cli import _parser as loadgen_parser
from surplus.loadgen.cli import with_verb
from tests.examples.test_examples import SAYS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELLS = ("sh", "bash", "console")
TOOLS = (
    ".venv/bin/pytest",
    "pip",
    "gcc",
    "docker",
    "helm",
    "curl",
    "kubectl",
    "prometheus",
    "tritonserver",
    "ray",
    "aws",
)
"""Of others: what they are asked is theirs."""

_BLOCK = re.compile(r"(?ms)^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```")
_INLINE = re.compile(r"`((?:engine|loadgen|make|python -m)\s[^`\n]+)`")


def lines(page: Path) -> Iterator[str]:
    """Commands in blocks: all lines of a shell, of other blocks those that begin as ours do."""
    for block in _BLOCK.finditer(page.read_text()):
        for line in block["body"].replace("\\\n", " ").splitlines():
            words = line.removeprefix("$ ").strip()
            is_ours = words.startswith(("engine ", "loadgen ", "make ", ".venv/bin/"))
            if words and not words.startswith("#") and (block["language"] in SHELLS or is_ours):
                yield words


COMMANDS = [(page, line) for page in PAGES for line in lines(page)]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda value: str(value)[-60:])
def test_a_command_in_a_block(page: Path, line: str) -> None:
    words = shlex.split(line, comments=True)
    while re.fullmatch(r"[A-Z_]+=.*", words[0]):  # of its environment
        words.pop(0)
    tool = words[0].removeprefix(".venv/bin/")
    if tool == "engine":
        _parser(words[1:]).parse_args(words[1:])
    elif tool == "loadgen":
        loadgen_parser(words[1:]).parse_args(with_verb(words[1:]))
    elif tool == "make":
        assert words[1] in targets()
    elif tool == "python" and words[1] == "-m":
        assert is_module(words[2]), line
    elif tool == "python":
        assert Path(words[1]).stem in {*SAYS, "detect"}, f"{line}: no test runs it"
    else:
        assert words[0] in TOOLS, line
    for word in words[1:]:
        if word.startswith("bench/"):
            assert (ROOT / word).exists(), word


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_sentences(page: Path) -> None:
    for command in _INLINE.findall(page.read_text()):
        words = command.split()
        if words[0] == "engine":
            assert words[1] in VERBS or words[1].startswith(("-", "VERB")), command
        elif words[0] == "make":
            assert words[1] in targets(), command
        elif words[:3] == ["python", "-m", "bench"]:
            assert words[3] in {*runnable(), "NAME"}, command
        elif words[0] == "python":
            assert is_module(words[2]), command


def test_the_quickstart_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = {}
    for line in lines(ROOT / "docs" / "quickstart.md"):
        words = shlex.split(line, comments=True)
        if words[0].endswith("engine"):
            assert main(words[1:]) == 0, line
            said[words[1], words[-1]] = capsys.readouterr().out
    assert "tasks" in said["inspect", "lenet.onnx"]
    assert "largest relative difference" in said["run", "--compare"]
    assert "critical path" in said["run", "--explain"]
    assert "stored" in said["plans", "lenet.onnx"] or "whole" in said["plans", "lenet.onnx"]


def targets() -> set[str]:
    """Of the Makefile."""
    return set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))


def is_module(name: str) -> bool:
    """Whether ``python -m`` finds it: a bench, or a package that runs."""
    parts = Path(*name.removeprefix("surplus.").split("."))
    path = ROOT / parts
    if name.startswith("bench."):
        return name in runnable().values()
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()
