"""Commands of the README name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MADE = "build/models/"
"""What `make serve` builds."""


def test_files_in_commands_are_there() -> None:
    commands = re.findall(r"`(engine [^`]*)`", (ROOT / "README.md").read_text())
    named = {word for line in commands for word in line.split() if "/" in word and "." in word}
    assert "bench/configs/colocation/two_services.toml" in named
    for name in named:
        assert name.startswith(MADE) or (ROOT / name).exists(), name


def test_a_models_file_is_not_looked_for_beside_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert "place faster_rcnn.onnx" not in text
