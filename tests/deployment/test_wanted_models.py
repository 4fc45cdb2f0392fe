"""Newest versions are told of when they are whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from surplus.engine.deployment.cluster_file import ClusterFile, read_cluster_file
from surplus.engine.deployment.folder_repository import FolderRepository
from surplus.engine.deployment.staged_models import Versions
from surplus.engine.deployment.wanted_models import WantedModels, wanted_versions
from tests.deployment.settings import cluster_file, model_table, save_version


def test_a_newer_version_counts_once_it_was_the_same_at_two_looks(tmp_path: Path) -> None:
    save_version(tmp_path / "repository", "net", 1)
    path = cluster_file(tmp_path, model_table("net", more=""))
    file = read_cluster_file(path)
    repository = FolderRepository(tmp_path / "repository")
    versions = wanted_versions(file, repository)
    assert versions == {"net": (1,)}
    told: list[Mapping[str, Versions]] = []

    def note(_: ClusterFile, new: Mapping[str, Versions]) -> None:
        told.append(new)

    wanted = WantedModels(path, file, repository, versions, note, every_s=1e9)
    wanted.close()  # the test looks for it
    half = save_version(tmp_path / "repository", "net", 2)
    wanted.look()
    (half / "more.bin").write_bytes(b"data")
    wanted.look()
    assert told == []
    wanted.look()
    assert told == [{"net": (2,)}]
    wanted.look()
    assert len(told) == 1


def test_a_version_that_is_named_counts_at_once(tmp_path: Path) -> None:
    for version in (1, 2):
        save_version(tmp_path / "repository", "net", version)
    path = cluster_file(tmp_path, model_table("net"))
    file = read_cluster_file(path)
    told: list[Mapping[str, Versions]] = []

    def note(_: ClusterFile, new: Mapping[str, Versions]) -> None:
        told.append(new)

    repository = FolderRepository(tmp_path / "repository")
    wanted = WantedModels(path, file, repository, {"net": (1,)}, note, every_s=1e9)
    wanted.close()
    cluster_file(tmp_path, model_table("net", more="versions = [2]"))
    wanted.look()
    assert told == [{"net": (2,)}]
