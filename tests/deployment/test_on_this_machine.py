"""A deployment without Ray: all of it but where agents run, with real servers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import surplus
from surplus.engine.cli.main import main
from surplus.engine.deployment.cluster_deployment import ClusterDeployment
from surplus.engine.deployment.local_machines import LocalMachines
from surplus.engine.errors import ConfigError
from tests.deployment.client import SteadyLoad, ask, resolve
from tests.deployment.settings import cluster_file, model_table, save_version
from tests.deployment.waiting import wait_for

TABLES = (
    model_table("net", rate=2, item_ms=10, more="versions = [1]"),
    model_table("sleeper", rate=2, item_ms=10, more="versions = [1]\nfirst_answer_s = 30"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("deployment")
    for name in ("net", "sleeper"):
        save_version(made / "repository", name, 1)
        save_version(made / "repository", name, 2)
    return made


@pytest.fixture(scope="module")
def machines() -> LocalMachines:
    return LocalMachines.of(2, {"node": 1})


@pytest.fixture(scope="module")
def deployed(folder: Path, machines: LocalMachines) -> Iterator[ClusterDeployment]:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    try:
        with surplus.deploy(cluster_file(folder, *TABLES), machines, look_s=0.1) as made:
            made.wait_until_served(90)
            yield made
    finally:
        del os.environ["XDG_CACHE_HOME"]


def test_who_is_not_asked_sleeps_and_wakes_for_who_asks(deployed: ClusterDeployment) -> None:
    wait_for(lambda: not deployed.directory.models()["sleeper"], "sleep")
    assert len(resolve(deployed.resolver, "net")) == 1
    (replica,) = resolve(deployed.resolver, "sleeper")
    assert ask(replica["http"], "sleeper", 3.0) == 1.0


def test_top_over_the_cluster(
    deployed: ClusterDeployment, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"http://{deployed.resolver}"
    assert main(["top", "--cluster", address, "--once", "--window", "0.1", "--json"]) == 0
    (machine, *_) = json.loads(capsys.readouterr().out)["machines"]
    assert machine["devices"][0].startswith("local-")
    assert main(["top", "--cluster", address, "--late", "net"]) == 1
    assert "not of a --cluster" in capsys.readouterr().err


def test_a_page_of_nodes(deployed: ClusterDeployment) -> None:
    with urlopen(f"http://{deployed.resolver}/") as answer:
        page = answer.read().decode()
        assert answer.headers["Content-Type"] == "text/html"
    (node,) = deployed.status()["nodes"]
    assert f'<a href="http://{node["metrics"]}/status">{node["node"]}</a>' in page
    with urlopen(f"http://{node['metrics']}/status") as answer:
        assert answer.status == 200


def test_versions_side_by_side_then_the_new_one_alone(
    deployed: ClusterDeployment, folder: Path
) -> None:
    other = TABLES[1]

    def change(versions: str) -> str:
        cluster_file(folder, TABLES[0].replace("versions = [1]", f"versions = {versions}"), other)
        wanted = [int(word) for word in versions.strip("[]").split(", ")]
        wait_for(lambda: deployed.status()["models"]["net"]["versions"] == wanted, "the file")
        deployed.wait_until_served(90)
        (replica,) = resolve(deployed.resolver, "net")
        return str(replica["http"])

    with SteadyLoad(deployed.resolver, "net", 20) as load:
        http = change("[1, 2]")
        assert ask(http, "net", 3.0, version=1) == 1.0
        assert ask(http, "net", 3.0, version=2) == 2.0
        http = change("[2]")
        assert ask(http, "net", 3.0) == 2.0
        with pytest.raises(HTTPError) as error:
            ask(http, "net", 3.0, version=1)
        error.value.close()
        assert ask(change("[1]"), "net", 3.0) == 1.0  # which was taken out before
        assert ask(change("[2]"), "net", 3.0) == 2.0
    load.check([1.0, 2.0])
    assert not deployed.status()["models"]["net"]["failure"]


def test_a_version_that_cannot_be_served_is_gone_back_from(
    deployed: ClusterDeployment, folder: Path
) -> None:
    broken = save_version(folder / "repository", "net", 3)
    (broken / "model.onnx").write_bytes(b"none")
    with SteadyLoad(deployed.resolver, "net", 20) as load:
        cluster_file(folder, TABLES[0].replace("[1]", "[3]"), TABLES[1])
        wait_for(lambda: deployed.status()["models"]["net"]["failure"], "the failure")
        deployed.wait_until_served(90)
    load.check([2.0])
    status = deployed.status()["models"]["net"]
    assert status["versions"] == [2]
    assert "versions (3,) cannot be served" in status["failure"]


def test_a_server_that_dies_is_started_again(
    deployed: ClusterDeployment, machines: LocalMachines
) -> None:
    (replica,) = resolve(deployed.resolver, "net")
    (row,) = deployed.status()["nodes"]
    os.kill(machines.server_pid(row["node"]), signal.SIGKILL)
    wait_for(lambda: deployed.status()["nodes"][0]["starts"] == 2, "the start")
    (again,) = resolve(deployed.resolver, "net")
    assert ask(again["http"], "net", 3.0) == 2.0
    assert again == {**replica, "load": again["load"]}  # where clients have it


def test_other_options_of_the_server_lose_no_query(
    deployed: ClusterDeployment, folder: Path
) -> None:
    (before,) = resolve(deployed.resolver, "net")
    with SteadyLoad(deployed.resolver, "net", 20) as load:
        path = cluster_file(folder, TABLES[0].replace("[1]", "[2]"), TABLES[1])
        path.write_text(path.read_text().replace('"--shared-memory"', '"--no-shared-memory"'))
        wait_for(lambda: resolve(deployed.resolver, "net")[0]["http"] != before["http"], "it")
        deployed.wait_until_served(90)
        asked = load.asked
        wait_for(lambda: load.asked > asked + 10, "queries of the new one")
    load.check([1.0, 2.0])  # the first as well, where no other test was before
    assert load.retried == 0


def test_a_wrong_file_changes_nothing(
    deployed: ClusterDeployment, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = deployed.status()["models"]
    cluster_file(folder, "[models.net]\nslo = 3\n")
    wait_for(lambda: "what is served stays as it is" in caplog.text, "the warning")
    cluster_file(folder, *TABLES, name="another")
    wait_for(
        lambda: "only [models] and kinds' serve may change" in caplog.text, "the other warning"
    )
    assert deployed.status()["models"].keys() == before.keys()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("node = 1", "node = 3", "kind 'cpu': no node has node 3; there are local-0: node 1"),
        ("versions = [1]", "versions = [7]", "model 'net': no version 7; there are: 1, 2"),
        ("models.net", "models.none", "has no model 'none'"),
        ("cpu:1", "gpu:none", "node local-0: "),
        ("cpu:1", "cuda:0", "node local-0: device 'cuda:0' is not here; there is none of its kind"),
        ("/repository", "/nowhere", "nowhere: no such folder"),
    ],
)
def test_what_is_said_before_anything_starts(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    for version in (1, 2):
        save_version(tmp_path / "repository", "net", version)
    path = cluster_file(tmp_path, model_table("net"))
    path.write_text(path.read_text().replace(before, after))
    machines = LocalMachines.of(1, {"node": 1})
    with pytest.raises(ConfigError) as error:
        surplus.deploy(path, machines)
    assert message in str(error.value)
    assert not machines.has_agents
