"""Nodes of a Ray cluster: Ray places agents, watches them and starts them again.

An agent is a detached actor, so that it outlives whoever runs the deployment. It takes what its
kind of node asks of a node, so that Ray gives that to nobody else. Queries never pass through Ray.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from surplus.engine.deployment.machines import FoundNode
from surplus.engine.deployment.node_agent import AgentParams, NodeAgent
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options
from surplus.engine.deployment.probe import probe
from surplus.engine.errors import ConfigError, one_line

NAMESPACE = "surplus"
_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
_CONTROLLER = "controller"
"""A name that no node's id is."""
_OWN = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
"""What Ray calls resources that it knows, in a cluster and in an actor's options."""


class RayMachines:
    """A ``Machines``.

    Parameters
    ----------
    address : str
        Of the cluster; ``auto`` is the one that this machine is of. One that this process is
        connected to already, in the namespace ``surplus``, is used as it is.

    Raises
    ------
    ConfigError
        If there is no such cluster.
    """

    def __init__(self, address: str = "auto") -> None:
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            try:
                ray.init(address, namespace=NAMESPACE, log_to_driver=False, logging_level="warning")
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ConfigError(f"no Ray cluster at {address}: {one_line(error)}") from error
        self._actor: Any = ray.remote(NodeAgent)
        self._probe: Any = ray.remote(probe)
        self._adopted: dict[str, Any] = {}
        self._closing = ThreadPoolExecutor(8, "surplus closing")
        self._claim: Any = None
        self._asked: str = "[]"
        self._nodes: Sequence[FoundNode] = _found()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="surplus nodes", daemon=True)
        self._thread.start()

    def nodes(self) -> Sequence[FoundNode]:
        """As of a moment ago: a thread asks, since Ray makes one wait while its head is gone."""
        return self._nodes

    def agent(self, params: AgentParams) -> RayAgent:
        """A detached actor on the node, or one that is there of an earlier life of ours."""
        if (found := self._adopted.pop(params.node, None)) is not None:
            return RayAgent(found, self._closing)
        options = {_OWN[key]: own for key, own in params.resources.items() if key in _OWN}
        others = {key: own for key, own in params.resources.items() if key not in _OWN}
        made = self._actor.options(
            name=f"{params.deployment}/{params.node}/{params.mark}/{uuid.uuid4().hex[:8]}",
            namespace=NAMESPACE,
            lifetime="detached",
            max_restarts=-1,
            scheduling_strategy=NodeAffinitySchedulingStrategy(params.node, soft=False),
            resources=others,
            **{"num_cpus": 0, **options},
        ).remote(params)
        return RayAgent(made, self._closing)

    def claim(self, deployment: str) -> None:
        """By an actor of a name, which there is once, and which ends with this process."""
        name = f"{deployment}/{_CONTROLLER}"
        claim: Any = ray.remote(_Claim)
        try:
            self._claim = claim.options(name=name, namespace=NAMESPACE, num_cpus=0).remote()
        except ValueError as error:
            text = f"deployment {deployment!r} is run by another controller"
            raise ConfigError(f"{text}: end it first, or choose another name") from error

    def release(self) -> None:
        """End that actor."""
        if self._claim is not None:
            with suppress(TimeoutError):  # without a head it hangs
                self._closing.submit(ray.kill, self._claim).result(_LOOK_S)
            self._claim = None

    def with_agents(self, deployment: str) -> Mapping[str, str]:
        """Those that the cluster knows by name."""
        found = {}
        for row in ray.util.list_named_actors(all_namespaces=True):
            owner, _, rest = row["name"].partition("/")
            node, _, marks = rest.partition("/")
            if row["namespace"] == NAMESPACE and owner == deployment and node != _CONTROLLER:
                with suppress(ValueError):  # it has just ended
                    self._adopted[node] = ray.get_actor(row["name"], namespace=NAMESPACE)
                    found[node] = marks.partition("/")[0]
        return found

    def probe(self, params: AgentParams) -> Future[str]:
        """By a task there."""
        where = NodeAffinitySchedulingStrategy(params.node, soft=False)
        made = self._probe.options(num_cpus=0, scheduling_strategy=where).remote(params)
        done: Future[str] = made.future()
        return done

    def ask_for(self, bundles: Sequence[Mapping[str, float]]) -> None:
        """Of Ray's autoscaler, where there is one; only if it is something else than before."""
        asked = json.dumps(bundles, sort_keys=True)
        if asked != self._asked:
            from ray.autoscaler.sdk import request_resources

            request_resources(bundles=[dict(bundle) for bundle in bundles])
            self._asked = asked

    def close(self) -> None:
        """Leave the cluster; what is on it stays."""
        self._is_closed.set()
        self._thread.join(_LOOK_S)  # no longer: without a head it hangs
        self._closing.shutdown(wait=False, cancel_futures=True)
        if self._is_ours:
            ray.shutdown()

    def _look(self) -> None:
        complaint = ""
        while not self._is_closed.wait(_LOOK_S):
            try:
                self._nodes = _found()
                complaint = ""
            except Exception as error:  # whatever Ray says of a head that is gone
                if not complaint:
                    complaint = one_line(error, 300)
                    _LOG.warning("nodes are taken to be as they were: %s", complaint)


class _Claim:
    """An actor that does nothing but bear a name."""


class RayAgent:
    """A ``RemoteAgent`` that is an actor.

    Parameters
    ----------
    threads : ThreadPoolExecutor
        Where its end is waited for.
    """

    def __init__(self, actor: Any, threads: ThreadPoolExecutor) -> None:
        self._actor = actor
        self._threads = threads

    def look(self, wanted: ModelVersions | None, options: Options | None) -> Future[NodeReport]:
        """As the agent's."""
        asked: Future[NodeReport] = self._actor.look.remote(wanted, options).future()
        return asked

    def close(self) -> Future[None]:
        """As the agent's; the actor ends with it."""
        return self._threads.submit(self._close)

    def kill(self) -> None:
        """End the actor, for good; its server answers what it has, and ends.

        In a thread: Ray makes one wait while its head is gone.
        """
        self._threads.submit(ray.kill, self._actor, no_restart=True)

    def _close(self) -> None:
        """In a thread of ours: in a callback of its own Ray would wait for itself."""
        try:
            ray.get(self._actor.close.remote())
        finally:
            ray.kill(self._actor, no_restart=True)


def _found() -> tuple[FoundNode, ...]:
    return tuple(
        FoundNode(row["NodeID"], row["NodeManagerAddress"], row["Resources"])
        for row in ray.nodes()
        if row["Alive"]
    )
