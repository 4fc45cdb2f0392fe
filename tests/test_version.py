"""One version, wherever it is asked for."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

import surplus
from surplus.engine.cli.main import main

ROOT = Path(__file__).parent.parent


def test_the_version_is_that_of_the_package() -> None:
    assert surplus.__version__ == importlib.metadata.version("surplus-engine")


def test_the_command_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert not stop.value.code
    assert capsys.readouterr().out == f"engine {surplus.__version__}\n"


def test_the_changelog_begins_with_the_version() -> None:
    first = next(
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    )
    assert first.split()[1] == surplus.__version__


def test_the_licence_is_there() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()
