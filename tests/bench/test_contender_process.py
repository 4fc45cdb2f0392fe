"""A process that is asked by lines: its answers, and that it is said when it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.infrastructure.contender_process import ContenderProcess
from bench.kernels.process import Process

ECHO = """
import json, sys
print(json.dumps({"facts": {"words": sys.argv[1:]}}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["do"] == "end":
        sys.exit(3)
    print(json.dumps({"asked": asked}), flush=True)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "echo_of_the_test.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "echo_of_the_test"


def test_it_answers_until_it_ends(module: str) -> None:
    process = ContenderProcess(module, "a", "b")
    assert process.first == {"facts": {"words": ["a", "b"]}}
    assert process.ask(do="say", s=1) == {"asked": {"do": "say", "s": 1}}
    with pytest.raises(EOFError, match=f"{module} a b has ended with status 3"):
        process.ask(do="end")
    process.end()


def test_one_that_does_not_take_a_model_is_not_there(tmp_path: Path) -> None:
    model = tmp_path / "none.onnx"
    process = Process("onnxruntime x1", [(model, model)], tmp_path)
    assert not process.is_there
    assert process.facts == {}
    process.end()
