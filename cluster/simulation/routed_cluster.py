"""A cluster served query by query: clients that route, servers that fail, plans that change.

Departures from a real cluster: the network takes no time, all clients know what each of them
knows and wait for late answers, and a server that starts again has its models loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Protocol

from surplus.cluster.routing.query_balancer import QueryBalancer
from surplus.cluster.simulation.node_server import NodeServer, ServerSetup
from surplus.cluster.simulation.outage import Outage, check_outages
from surplus.cluster.simulation.router import Router
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Query

_SERVER, _HAPPENING, _ARRIVAL = range(3)
"""Order at one instant: servers go on, then something happens to them, then queries come."""

Happening = Callable[[int], None]


class Overseer(Protocol):
    """Plans the cluster while it serves."""

    def begin(self, cluster: RoutedCluster) -> None:
        """Note whom to hand deployments to, and ask to be called."""
        ...

    def arrived(self, query: Query) -> None:
        """See a query."""
        ...

    def lost(self, node: int, now_ns: int) -> None:
        """A node goes; how long it takes to notice that is the overseer's matter."""
        ...

    def back(self, node: int, now_ns: int) -> None:
        """A node is there again."""
        ...


class RoutedCluster:
    """Serves a load.

    Parameters
    ----------
    load : Load
    setup : ServerSetup
    deployments : sequence of Deployment
        What each node serves at first.
    balancer : QueryBalancer
        Where clients send their queries.
    outages : sequence of Outage
    overseer : Overseer, optional
        None to keep the deployments.

    Attributes
    ----------
    router : Router
        What became of the queries.
    lives : list of NodeServer
        All servers that there were.

    Raises
    ------
    ValueError
        If an outage is of no node, or two of one node overlap.
    """

    def __init__(
        self,
        load: Load,
        setup: ServerSetup,
        deployments: Sequence[Deployment],
        balancer: QueryBalancer,
        outages: Sequence[Outage] = (),
        overseer: Overseer | None = None,
    ) -> None:
        check_outages(outages, len(deployments))
        self._arrivals = load.queries()
        self._setup = setup
        self._balancer = balancer
        self._overseer = overseer
        self._agenda: list[tuple[int, int, int, Happening]] = []
        self._count = self._now_ns = 0
        self.router = Router(len(load), balancer, self)
        self.lives: list[NodeServer] = []
        self._deployments = list(deployments)
        self._servers: list[NodeServer | None] = [self._started(d) for d in deployments]
        self._asked_ns: list[int | None] = [None] * len(deployments)
        self._silent: set[int] = set()
        self._publish()
        for outage in outages:
            self._expect(outage)
        if overseer is not None:
            overseer.begin(self)

    def run(self) -> Router:
        """Handle all that happens until nothing is left to do."""
        arriving = next(self._arrivals, None)
        while arriving is not None or self._agenda:
            first = self._agenda[0][:2] if self._agenda else None
            if arriving is not None and (not first or (arriving.arrival_ns, _ARRIVAL) < first):
                self._now_ns = arriving.arrival_ns
                if self._overseer is not None:
                    self._overseer.arrived(arriving)
                self.router.send(arriving, self._now_ns)
                arriving = next(self._arrivals, None)
            else:
                self._now_ns, _, _, happening = heappop(self._agenda)
                happening(self._now_ns)
        return self.router

    def at(self, when_ns: int, happening: Happening) -> None:
        """Let something happen."""
        self._push(when_ns, _HAPPENING, happening)

    def take_over(self, deployments: Mapping[int, Deployment]) -> None:
        """Give nodes other deployments: at once, or when they are back."""
        for node, deployment in deployments.items():
            self._deployments[node] = deployment
            server = self._servers[node]
            if server is not None:
                server.take_over(deployment, self._now_ns)
        self._publish()
        for node in deployments:
            self.settle(node)

    def deliver(self, node: int, query: Query, now_ns: int) -> int | None:
        """Hand a query to a server; its number there, None if nobody says anything.

        Raises
        ------
        ConnectionRefusedError
            If no server listens there.
        """
        server = self._servers[node]
        if server is not None:
            return server.admit(query, now_ns)
        if node in self._silent:
            return None
        raise ConnectionRefusedError(f"node {node}")

    def wait_ns(self, node: int) -> int | None:
        """What a server that answers says that a new query would wait; None if it does not."""
        server = self._servers[node]
        return None if server is None else server.wait_ns

    def settle(self, node: int) -> None:
        """Tell the router what has ended on a node, and see when the node goes on."""
        server = self._servers[node]
        if server is None:
            return
        for ended in server.left():
            self.router.left(node, ended, self._now_ns)
        next_ns, asked_ns = server.next_ns, self._asked_ns[node]
        if next_ns is not None and (asked_ns is None or next_ns < asked_ns):
            self._asked_ns[node] = next_ns
            self._push(next_ns, _SERVER, lambda now_ns: self._go_on(node, server, now_ns))

    def _go_on(self, node: int, server: NodeServer, now_ns: int) -> None:
        if self._servers[node] is server and self._asked_ns[node] == now_ns:
            self._asked_ns[node] = None
            server.advance(now_ns)
            self.settle(node)

    def _expect(self, outage: Outage) -> None:
        self.at(outage.begin_ns, lambda now_ns: self._fail(outage, now_ns))
        self.at(outage.end_ns, lambda now_ns: self._restart(outage.node, now_ns))

    def _fail(self, outage: Outage, now_ns: int) -> None:
        node = outage.node
        self._servers[node] = self._asked_ns[node] = None
        if outage.silent:
            self._silent.add(node)
        if self._overseer is not None:
            self._overseer.lost(node, now_ns)
        self.router.gone(node, outage.silent, now_ns)

    def _restart(self, node: int, now_ns: int) -> None:
        self._silent.discard(node)
        self._servers[node] = self._started(self._deployments[node])
        if self._overseer is not None:
            self._overseer.back(node, now_ns)

    def _started(self, deployment: Deployment) -> NodeServer:
        server = NodeServer(self._setup, deployment)
        self.lives.append(server)
        return server

    def _publish(self) -> None:
        """Say which nodes have which models; clients find out themselves who answers."""
        found: list[list[int]] = [[] for _ in self._setup.services]
        for node, deployment in enumerate(self._deployments):
            for service in deployment.served:
                found[service].append(node)
        for service, nodes in enumerate(found):
            self._balancer.set_replicas(service, nodes)

    def _push(self, when_ns: int, kind: int, happening: Happening) -> None:
        self._count += 1
        heappush(self._agenda, (when_ns, kind, self._count, happening))
