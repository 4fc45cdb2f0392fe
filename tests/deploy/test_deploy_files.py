"""What ``deploy/`` has: options that the command knows, locks that are whole, a unit that loads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from surplus.engine.cli.main import _parser
from tests.deploy.dockerfile_steps import instructions

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DOCKERFILE = (DEPLOY / "docker" / "Dockerfile").read_text()
UNIT = (DEPLOY / "systemd" / "surplus.service").read_text()
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def _parsed(words: list[str]) -> None:
    _parser(words).parse_args(words)  # ends the process where an option is unknown


def test_there_are_manifests() -> None:
    assert len(MANIFESTS) == 2


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_start_what_there_is(path: Path) -> None:
    found = re.findall(r"^ *args: (\[.*\])$", path.read_text(), re.MULTILINE)
    assert len(found) == 1
    _parsed(json.loads(found[0]))


def test_the_image_starts_what_there_is() -> None:
    steps = list(instructions(DOCKERFILE))
    last = len(steps) - 1 - [word for word, _ in reversed(steps)].index("FROM")
    final = dict(steps[last:])
    assert json.loads(final["ENTRYPOINT"]) == ["engine"]
    _parsed(json.loads(final["CMD"]))
    _parsed(json.loads(final["HEALTHCHECK"].partition("CMD ")[2])[1:])
    assert final["USER"] not in ("0", "root")


def test_the_unit_starts_what_there_is() -> None:
    (command,) = re.findall(r"^ExecStart=\S+/engine (.*)$", UNIT, re.MULTILINE)
    _parsed(command.split())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_loads(tmp_path: Path) -> None:
    path = tmp_path / "surplus.service"
    path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT, flags=re.MULTILINE))
    command = ["systemd-analyze", "verify", "--man=no", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_compiled_in_has_its_licence() -> None:
    text = (ROOT / "THIRD_PARTY.md").read_text()
    assert "THIRD_PARTY.md" in PROJECT["project"]["license-files"]
    (bindings,) = (file for file in metadata.files("nanobind") or () if file.name == "LICENSE")
    assert bindings.read_text().strip() in text
    fetched = (ROOT / "engine" / "core" / "http1" / "CMakeLists.txt").read_text()
    (version,) = re.findall(r"build/llhttp-([\d.]+)\)", fetched)
    assert f"llhttp) {version} |" in text
    licence = ROOT / "build" / f"llhttp-{version}" / "LICENSE-MIT"
    assert not licence.exists() or licence.read_text().strip() in text


def _pins(kind: str) -> dict[str, str]:
    """Versions by name; every entry must have a hash."""
    text = (DEPLOY / "locks" / f"{kind}.txt").read_text()
    entries = re.split(r"\n(?=[a-z])", text)[1:]
    pins = {}
    for entry in entries:
        assert "--hash=sha256:" in entry, entry
        name, version = re.match(r"([\w.-]+)==([^\s;]+)", entry).groups()
        pins[name] = version
    return pins


@pytest.mark.parametrize(
    ("kind", "extras"),
    [
        ("cpu", ("cpu", "http")),
        ("gpu", ("gpu", "http")),
        ("compiled", ("compiled",)),
        ("ray", ("cpu", "http", "ray")),
        ("build", None),
    ],
)
def test_a_lock_has_what_the_project_asks_for(kind: str, extras: tuple[str, ...] | None) -> None:
    pins = _pins(kind)
    asked = PROJECT["build-system"]["requires"] if extras is None else []
    if extras is not None:
        asked = [*PROJECT["project"]["dependencies"]]
        for extra in extras:
            asked += PROJECT["project"]["optional-dependencies"][extra]
    for line in asked:
        wanted = Requirement(line)
        name = wanted.name.lower().replace("_", "-")
        assert name in pins, f"{line}: make lock"
        assert wanted.specifier.contains(pins[name]), f"{line}, locked {pins[name]}: make lock"
