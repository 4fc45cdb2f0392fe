"""``engine adopt``: becomes the program, or says in a line why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def adopted(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("engine")), "adopt", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})


def test_the_program_has_its_arguments_and_its_status() -> None:
    script = "import sys; print(sys.argv[1:]); sys.exit(7)"
    done = adopted("--deadline-ms", "5", "--", sys.executable, "-c", script, "--json", "-v")
    assert (done.stdout, done.stderr, done.returncode) == ("['--json', '-v']\n", "", 7)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--", "there-is-no-such-program"], "no program 'there-is-no-such-program'"),
        (["--devices", "nothing:1", "--", "true"], "unknown kind 'nothing'"),
        (["--deadline-ms", "0", "--", "true"], "deadline_s must be above 0"),
        (["--deadline-ms", "5", "--best-effort", "--", "true"], "best effort is not due"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], text: str) -> None:
    done = adopted(*words)  # not in this process, which it might become
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("engine adopt: ")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
