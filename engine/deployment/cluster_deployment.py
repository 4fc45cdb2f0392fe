"""A deployment, from a program: begun, looked at, ended."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from surplus.engine.deployment.cluster_file import ClusterFile, read_cluster_file
from surplus.engine.deployment.controller import ClusterController
from surplus.engine.deployment.directory import Directory
from surplus.engine.deployment.machines import Machines
from surplus.engine.deployment.resolver import LEAST_WAIT_S, ResolverServer
from surplus.engine.deployment.shared_repository import open_repository
from surplus.engine.deployment.wanted_models import WantedModels, wanted_versions
from surplus.engine.errors import ConfigError, UnavailableError, one_line

_LOG = logging.getLogger(__name__)
_PROBE_S = 60.0
_CLOSE_S = 60.0


class ClusterDeployment:
    """Models on the nodes of a cluster, until it is closed.

    Parameters
    ----------
    path : Path
        ``CLUSTER.toml``; what it says of models is followed as it changes.
    machines : Machines
    look_s : float
        From one look at the nodes to the next.
    owns_machines : bool
        Whether they are closed with it.

    Raises
    ------
    ConfigError
        If the file is wrong, a model fits no node, a node lacks what its kind says, or cannot read
        the repository, the resolver's address is taken, or another one runs a deployment of this
        name; nothing has been started then.
    """

    def __init__(
        self, path: Path, machines: Machines, look_s: float = 0.5, owns_machines: bool = False
    ) -> None:
        file = read_cluster_file(path)
        repository = open_repository(file.repository)
        versions = wanted_versions(file, repository)
        self._look_s = look_s
        self._owned = machines if owns_machines else None
        self._machines = machines
        self.directory = Directory()
        with ExitStack() as undone:
            machines.claim(file.name)
            undone.callback(machines.release)
            try:
                self._controller = ClusterController(
                    file, machines, versions, self.directory, look_s
                )
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from error
            self._resolver = ResolverServer(
                file.resolver, self.directory, _waits_s(file), self._controller.nodes
            )
            undone.callback(self._resolver.close)
            _probe(machines, self._controller)
            self._is_closed = threading.Event()
            self._wanted = WantedModels(
                path, file, repository, versions, self._controller.update, file.window_s
            )
            undone.pop_all()
        self._thread = threading.Thread(target=self._run, name="surplus deployment", daemon=True)
        self._thread.start()

    @property
    def resolver(self) -> str:
        """``HOST:PORT`` that clients ask for addresses."""
        return self._resolver.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def status(self) -> dict[str, Any]:
        """Models and nodes, as JSON has them."""
        return self._controller.status()

    def wait_until_served(self, timeout_s: float) -> None:
        """Wait until all that is planned serves, in its versions.

        Raises
        ------
        UnavailableError
            If it does not in time.
        """
        end_s = time.monotonic() + timeout_s
        while not self._controller.is_settled():
            if time.monotonic() > end_s:
                raise UnavailableError(f"not served within {timeout_s:g} s: {self.status()}")
            time.sleep(min(self._look_s, 0.1))

    def close(self) -> None:
        """End all agents and servers, with their queries answered."""
        if self._leave():
            self._controller.close(_CLOSE_S)
            self._let_go()

    def abandon(self) -> None:
        """Leave agents and servers as they are, for another one to find."""
        if self._leave():
            self._let_go()

    def _let_go(self) -> None:
        self._machines.release()
        if self._owned is not None:
            self._owned.close()

    def _leave(self) -> bool:
        if self._is_closed.is_set():
            return False
        self._is_closed.set()
        self.directory.on_wake.set()
        self._thread.join()
        self._wanted.close()
        self._resolver.close()
        return True

    def _run(self) -> None:
        while not self._is_closed.is_set():
            try:
                self._controller.step()
            except Exception:  # whatever is wrong now may be right at the next look
                _LOG.exception("a look at the cluster failed")
            self.directory.on_wake.wait(self._look_s)


def _waits_s(file: ClusterFile) -> dict[str, float]:
    """How long who asks for a model that sleeps is waited with."""
    return {name: max(LEAST_WAIT_S, table.first_answer_s) for name, table in file.models.items()}


def _probe(machines: Machines, controller: ClusterController) -> None:
    """Have every node look at what it will need.

    Raises
    ------
    ConfigError
        Naming each node and what is wrong there.
    """
    asked: list[tuple[str, Future[str]]] = [
        (node, machines.probe(controller.params(node))) for node in controller.node_ids()
    ]
    wrong = [f"node {node[:12]}: {why}" for node, future in asked if (why := _heard(future))]
    if wrong:
        raise ConfigError("; ".join(wrong))


def _heard(future: Future[str]) -> str:
    try:
        return future.result(_PROBE_S)
    except TimeoutError:
        return f"it does not answer within {_PROBE_S:g} s"
    except Exception as error:  # Ray's, of a node that has just gone
        return one_line(error, 300)


def deploy(
    path: str | Path, machines: Machines | None = None, address: str = "auto", look_s: float = 0.5
) -> ClusterDeployment:
    """Serve models on the nodes of a Ray cluster (docs/how_to/deploy_cluster.md).

    ::

        with surplus.deploy("CLUSTER.toml") as deployed:
            deployed.wait_until_served(60)
            print(deployed.resolver, deployed.status())

    Parameters
    ----------
    path : str or Path
        ``CLUSTER.toml``.
    machines : Machines, optional
        Nodes of something else than Ray.
    address : str
        Of the Ray cluster; ``auto``: the one that this machine is of.
    look_s : float
        From one look at the nodes to the next.

    Raises
    ------
    ConfigError
        As ``ClusterDeployment``; or if Ray is not installed, or there is no such cluster.
    """
    if machines is not None:
        return ClusterDeployment(Path(path), machines, look_s)
    read_cluster_file(Path(path))  # what is wrong with it needs no cluster to be said
    made = ray_machines(address)
    try:
        return ClusterDeployment(Path(path), made, look_s, owns_machines=True)
    except BaseException:
        made.close()
        raise


def ray_machines(address: str = "auto") -> Machines:
    """The nodes of a Ray cluster.

    Raises
    ------
    ConfigError
        If Ray is not installed, or there is no such cluster.
    """
    try:
        from surplus.engine.deployment.ray_machines import RayMachines
    except ImportError as error:
        raise ConfigError("Ray is needed: pip install 'surplus-engine[ray]'") from error
    return RayMachines(address)
