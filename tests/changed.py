"""Which tests matter for what was changed: ``make check`` hands what this prints to pytest.

Changed is what differs from the branch's upstream, or from the last commit where it has none, and
what is not committed. A package's tests are the folder of its name.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ALWAYS = ("tests/invariants", "tests/test_namespace.py", "tests/test_readme.py")
"""What a change anywhere may break."""

_OF = {
    "docs": "examples",
    "mkdocs.yml": "examples",
    "surplus": "pipeline",
    "Makefile": "bench",
    "fakes": "fake_gpu",
    "engine/examples": "planning",
}
"""Tests of what has no folder of its name."""


def changed(root: Path) -> list[str]:
    """Files below a repository that were changed, added, or are gone."""
    upstream = _git(root, "rev-parse", "--abbrev-ref", "@{upstream}") or ["HEAD"]
    named = _git(root, "diff", "--name-only", upstream[0])
    return sorted({*named, *_git(root, "ls-files", "--others", "--exclude-standard")})


def relevant(files: Iterable[str], root: Path) -> list[str]:
    """Files and folders of tests, of which none is within another."""
    found = {name for name in ALWAYS if (root / name).exists()}
    for file in files:
        parts = Path(file).parts
        is_test = parts[0] == "tests" and parts[-1].startswith("test_") and file.endswith(".py")
        if parts[0] == "tests":
            name = file if is_test else f"tests/{_OF.get(parts[1], parts[1])}"
        elif parts[0] == "engine" and len(parts) > 2:
            name = f"tests/{_OF.get('/'.join(parts[:2]), parts[1])}"
        else:
            name = f"tests/{_OF.get(parts[0], parts[0])}"
        if (root / name).is_dir() or (is_test and (root / name).exists()):
            found.add(name)
    return sorted(name for name in found if not any(_is_within(name, other) for other in found))


def _is_within(name: str, other: str) -> bool:
    return name.startswith(f"{other}/")


def _git(root: Path, *words: str) -> Sequence[str]:
    command = ["git", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


if __name__ == "__main__":
    repository = Path(__file__).parent.parent
    print(*relevant(changed(repository), repository))
    sys.exit(0)
