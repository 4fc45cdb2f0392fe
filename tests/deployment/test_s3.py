"""Models from a store that speaks S3: a server of moto's in this process, asked by s3fs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import surplus
from surplus.engine.deployment.local_machines import LocalMachines
from surplus.engine.deployment.shared_repository import open_repository, versions_in
from surplus.engine.errors import ConfigError
from tests.deployment.client import SteadyLoad, ask, resolve
from tests.deployment.settings import cluster_file, model_table, save_version
from tests.deployment.waiting import wait_for

if TYPE_CHECKING:
    from moto.server import ThreadedMotoServer

pytestmark = pytest.mark.filterwarnings("ignore")  # of theirs


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadedMotoServer]:
    for needed in ("s3fs", "moto", "flask", "flask_cors"):
        pytest.importorskip(needed, reason=f"make test-stores installs {needed}")
    from moto.server import ThreadedMotoServer

    made = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def store(
    server: ThreadedMotoServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Any]:
    """The store with an empty bucket, as a user without a file of settings has it."""
    import s3fs

    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    s3fs.S3FileSystem.clear_instance_cache()
    made = s3fs.S3FileSystem()
    made.mkdir("bucket")
    yield made
    made.rm("bucket", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


def _upload(store: Any, folder: Path, version: int) -> None:
    made = save_version(folder, "net", version)
    store.put(str(made / "model.onnx"), f"bucket/models/net/{version}/model.onnx")


def _deploy_file(folder: Path, *models: str) -> Path:
    path = cluster_file(folder, *models, name="stored")
    text = path.read_text()
    path.write_text(text.replace(str(folder / "repository"), "s3://bucket/models"))
    return path


def test_models_are_served_from_the_store(store: Any, tmp_path: Path) -> None:
    _upload(store, tmp_path / "made", 1)
    store.pipe("bucket/models/net/", b"")  # as a console makes a folder
    path = _deploy_file(tmp_path, model_table("net", more=""))
    with surplus.deploy(path, LocalMachines.of(1, {"node": 1}), look_s=0.1) as deployed:
        deployed.wait_until_served(90)
        (replica,) = resolve(deployed.resolver, "net")
        assert ask(replica["http"], "net", 3.0) == 1.0
        with SteadyLoad(deployed.resolver, "net", 20) as load:
            _upload(store, tmp_path / "made", 2)
            wait_for(lambda: load.added[2.0] > 10, "answers of what was uploaded")
        load.check([1.0, 2.0])


def test_what_is_not_there_is_said_before_anything_starts(store: Any, tmp_path: Path) -> None:
    _upload(store, tmp_path / "made", 1)
    machines = LocalMachines.of(1, {"node": 1})
    path = _deploy_file(tmp_path, model_table("net", more="versions = [2]"))
    with pytest.raises(ConfigError, match="'net': no version 2; there are: 1"):
        surplus.deploy(path, machines)
    path.write_text(path.read_text().replace("s3://bucket/", "s3://none/"))
    with pytest.raises(ConfigError, match="repository s3://none/models: "):
        surplus.deploy(path, machines)
    assert not machines.has_agents


def test_a_file_that_is_written_anew_is_another_one(store: Any, tmp_path: Path) -> None:
    _upload(store, tmp_path / "made", 1)
    repository = open_repository("s3://bucket/models")
    before = repository.files("net")
    assert versions_in(before) == [1]
    store.pipe("bucket/models/net/1/model.onnx", b"other")
    after = repository.files("net")
    assert after.keys() == before.keys()
    assert after != before
    repository.copy("net", "1/model.onnx", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"other"
    with pytest.raises(ConfigError, match="s3://bucket/models/net/2/"):
        repository.copy("net", "2/model.onnx", tmp_path / "copy")
