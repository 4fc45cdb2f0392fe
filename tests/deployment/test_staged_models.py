"""Copies of models on a node, and the folder that its server looks at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from surplus.engine.deployment.folder_repository import FolderRepository
from surplus.engine.deployment.shared_repository import (
    SharedRepository,
    open_repository,
    versions_in,
)
from surplus.engine.deployment.staged_models import StagedModels
from surplus.engine.errors import ConfigError
from surplus.engine.repository.layout import find_models
from tests.deployment.settings import save_version


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for version in (1, 2, 10):
        save_version(folder, "net", version)
    config = (
        'name: "net"\nmax_batch_size: 0\nparameters { key: "team" value { string_value: "a" } }'
    )
    (folder / "net/config.pbtxt").write_text(config)
    (folder / "net/labels.txt").write_text("one\n")
    return folder


@pytest.fixture
def staged(tmp_path: Path, repository: Path) -> StagedModels:
    return StagedModels(tmp_path / "node", FolderRepository(repository))


def served(staged: StagedModels) -> list[tuple[str, str]]:
    return [(one.name, one.version) for one in find_models(staged.folder, may_be_empty=True)]


def test_the_versions_that_are_wanted_and_no_others(staged: StagedModels) -> None:
    staged.stage("net", (1, 10))
    assert served(staged) == [("net", "1"), ("net", "10")]
    staged.stage("net", (2,))
    assert served(staged) == [("net", "2")]
    assert (staged.folder / "net/labels.txt").read_text() == "one\n"
    staged.unstage("net")
    assert served(staged) == []


def test_the_configuration_stays_but_for_versions(staged: StagedModels) -> None:
    staged.stage("net", (1,))
    (entry,) = find_models(staged.folder)
    assert entry.config is not None
    assert entry.config.parameters == {"team": "a"}
    assert list(entry.config.message.version_policy.specific.versions) == [1]


def test_a_configuration_in_toml(tmp_path: Path) -> None:
    save_version(tmp_path / "r", "net", 1)
    (tmp_path / "r/net/config.toml").write_text("parameters.team.string_value = 'b'")
    staged = StagedModels(tmp_path / "node", FolderRepository(tmp_path / "r"))
    staged.stage("net", (1,))
    (entry,) = find_models(staged.folder)
    assert entry.config is not None
    assert entry.config.parameters == {"team": "b"}


def test_a_version_is_copied_once(
    staged: StagedModels, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged.stage("net", (1,))
    copied: list[str] = []
    copy = FolderRepository.copy

    def counted(self: FolderRepository, name: str, path: str, to: Path) -> None:
        copied.append(path)
        copy(self, name, path, to)

    monkeypatch.setattr(FolderRepository, "copy", counted)
    staged.stage("net", (1, 2))
    assert copied == ["2/model.onnx"]
    os.utime(repository / "net/1/model.onnx", ns=(1, 1))  # it is another one
    staged.stage("net", (1,))
    assert copied == ["2/model.onnx", "1/model.onnx"]
    staged.stage("net", (1, 2))  # what was served before is still there
    assert copied == ["2/model.onnx", "1/model.onnx"]


def test_older_copies_are_removed(staged: StagedModels, tmp_path: Path) -> None:
    for version in (1, 2, 10):
        staged.stage("net", (version,))
    copies = {folder.name.split("-")[0] for folder in (tmp_path / "node/files/net").iterdir()}
    assert copies == {"shared", "2", "10"}


def test_what_is_wrong_leaves_what_was_staged(staged: StagedModels, repository: Path) -> None:
    staged.stage("net", (1,))
    with pytest.raises(ConfigError, match="'net': no version 3; there are: 1, 2, 10"):
        staged.stage("net", (3,))
    (repository / "net/config.pbtxt").write_text("max_batch: 1")
    with pytest.raises(ConfigError, match="max_batch"):
        staged.stage("net", (2,))
    assert served(staged) == [("net", "1")]


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        open_repository(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="repository nowhere://x"):
        open_repository("nowhere://x")


@pytest.mark.ray
def test_a_store_of_objects(tmp_path: Path, repository: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.put(str(repository / "net"), "/bucket/models/net", recursive=True)
    shared: SharedRepository = open_repository("memory://bucket/models")
    assert versions_in(shared.files("net")) == [1, 2, 10]
    assert versions_in(shared.files("none")) == []
    staged = StagedModels(tmp_path / "other", shared)
    staged.stage("net", (2,))
    assert served(staged) == [("net", "2")]
    before = shared.files("net")
    store.pipe("/bucket/models/net/2/model.onnx", b"other")
    assert shared.files("net") != before
    with pytest.raises(ConfigError, match="memory://bucket/models/net/none"):
        shared.copy("net", "none", tmp_path / "x")
