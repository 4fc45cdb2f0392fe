"""Which models there are on which servers, looked at again and again, and served from there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from surplus.engine import _core
from surplus.engine.errors import ConfigError, EngineError, UnavailableError
from surplus.engine.isolation.worker_queries import WorkerQueries
from surplus.engine.proxy.asked_replica import AskedReplica, ModelDescription
from surplus.engine.proxy.route_params import RouteParams
from surplus.engine.proxy.routed_model import RoutedModel
from surplus.engine.serving.metrics.replica_sample import ReplicaSample
from surplus.engine.serving.say import say
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import LARGEST_MESSAGE_BYTES
from surplus.routing.errors import ResolverError
from surplus.routing.resolver import HttpResolver, ReplicaAddress

_PAUSE_S, _BLINK_S = 0.2, 0.005
_MOST_ASKED = 64
"""Models at a time that a resolver is asked for: it waits with who asks for one that sleeps."""
NOBODY = "no server is known that has the model"

Key = tuple[str, str]
"""Name and version of a model."""


class RoutedModels:
    """Finds models, and enters them into a server. On its event loop.

    Raises
    ------
    ConfigError
        If the native front end, which alone routes, cannot be had.
    """

    def __init__(self, params: RouteParams) -> None:
        self._params = params
        self._resolver = HttpResolver(params.resolver) if params.resolver else None
        ejection, tls = params.ejection, params.tls
        try:
            self.link = _core.Replicas(
                most_message_bytes=LARGEST_MESSAGE_BYTES,
                authorization=f"Bearer {params.token}" if params.token else "",
                most_failures=ejection.most_failures,
                eject_ns=round(ejection.eject_s * 1e9),
                most_eject_ns=round(ejection.most_eject_s * 1e9),
                unheard_ms=round(params.unheard_s * 1e3),
                tls_ca="" if tls is None else tls.ca,
                tls_certificate="" if tls is None else tls.certificate,
                tls_key="" if tls is None else tls.key,
            )
        except RuntimeError as error:
            raise ConfigError(f"queries cannot be routed: {error}") from error
        self._asked: dict[str, AskedReplica] = {}
        self._asking = ThreadPoolExecutor(_MOST_ASKED, "surplus resolver")
        self._queries: WorkerQueries | None = None
        self._replicas: dict[str, list[ReplicaAddress]] = {}
        self._described: dict[Key, ModelDescription] = {}
        self._served: dict[Key, ServedModel] = {}
        self._said: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Of the models that were found."""
        return list(dict.fromkeys(name for name, _ in self._described))

    async def find(self) -> None:
        """Look until some model is found.

        Raises
        ------
        ConfigError
            If none is, in the time that there is for it; the message says why.
        """
        try:
            async with asyncio.timeout(self._params.wait_s):
                while not self._described:
                    await self.look()
                    if not self._described:
                        await asyncio.sleep(_PAUSE_S)
                while not any(map(self._reached, self.names)):
                    self.link.pump()  # until the front end does
                    await asyncio.sleep(_BLINK_S)
        except TimeoutError:
            why = "; ".join(dict.fromkeys(self._said.values())) or "no server has a model"
            raise ConfigError(f"nothing to route: {why}") from None

    def serve_by(self, server: AsyncServer) -> None:
        """Serve what was found, and what will be, once a server that has it is reached."""
        self._queries = WorkerQueries(self.link, pumps=False, gone=NOBODY)
        server.plane.replicas = lambda: [ReplicaSample(*row) for row in self.link.counts()]
        self._server = server
        self._enter_reached()

    async def keep_looking(self) -> None:
        """Until cancelled. A model that the resolver waits with holds up no other one."""
        await asyncio.gather(*map(self._keep, self._looks()))

    async def look(self) -> None:
        """Ask everybody once; who does not answer keeps what it had."""
        await asyncio.gather(*(look() for look in self._looks()))

    def _looks(self) -> list[Callable[[], Coroutine[None, None, None]]]:
        if self._resolver is None:
            return [self._ask_servers]
        return [partial(self._ask_resolver, self._resolver, name) for name in self._params.models]

    async def _keep(self, look: Callable[[], Coroutine[None, None, None]]) -> None:
        while True:
            await asyncio.sleep(self._params.look_s)
            await look()
            self._enter_reached()

    async def _ask_servers(self) -> None:
        asked = [self._asked_at(replica.grpc) for replica in self._params.servers]
        found = await asyncio.gather(*map(self._index, asked))
        for replica, server, keys in zip(self._params.servers, asked, found, strict=True):
            if keys is None:
                continue
            names = {name for name, _ in keys}
            for name, replicas in self._replicas.items():
                if name not in names:
                    self._replicas[name] = [r for r in replicas if r.grpc != server.address]
            for name in names:
                known = self._replicas.setdefault(name, [])
                if all(row.grpc != server.address for row in known):
                    known.append(replica)
            for key in keys:
                await self._describe(server, key)
        for name in list(self._replicas):
            await self._tell(name)

    async def _index(self, server: AskedReplica) -> list[Key] | None:
        try:
            found = await server.ready_models()
        except UnavailableError as error:
            self._say(server.address, str(error))
            return None
        self._say(server.address, "")
        return found

    async def _ask_resolver(self, resolver: HttpResolver, name: str) -> None:
        try:
            asked = asyncio.get_running_loop().run_in_executor(
                self._asking, resolver.replicas, name
            )
            replicas = list(await asked)
        except ResolverError as error:
            self._say(name, str(error))
            return
        self._say(name, "" if replicas else f"no server has {name!r}, says the resolver")
        self._replicas[name] = replicas
        for replica in replicas:
            if not any(key[0] == name for key in self._described):
                await self._describe(self._asked_at(replica.grpc), (name, ""))
        await self._tell(name)

    async def _describe(self, server: AskedReplica, key: Key) -> None:
        if key in self._described:
            return
        try:
            found = await server.describe(*key)
        except UnavailableError as error:
            self._say(server.address, str(error))
            return
        self._described[found.name, found.version] = found

    async def _tell(self, name: str) -> None:
        """The balancer, of who has a model; hosts are looked up."""
        rows = [(replica.grpc, replica.http, replica.load) for replica in self._replicas[name]]
        try:
            await asyncio.to_thread(self.link.set_replicas, name, rows)
        except ValueError as error:
            self._say(name, str(error))

    def _enter_reached(self) -> None:
        for key in list(self._described):
            if key not in self._served and self._reached(key[0]):
                self._enter(key)

    def _enter(self, key: Key) -> None:
        assert self._queries is not None, "the server is there"
        try:
            name, version = key
            model = RoutedModel(
                self._described[key],
                "" if self._resolver is not None else version,  # whose servers have any
                self.link,
                self._queries,
                lambda: self._reached(name),
            )
            self._served[key] = self._server.plane.models.add(*key)
        except (EngineError, ValueError) as error:
            self._described.pop(key)
            self._say(key[0], str(error))
            return
        self._served[key].set_ready(model)

    def _reached(self, name: str) -> Sequence[str]:
        reached = set(self.link.reached())
        return [row.grpc for row in self._replicas.get(name, ()) if row.grpc in reached]

    def _asked_at(self, address: str) -> AskedReplica:
        asked = self._asked.get(address)
        if asked is None:
            asked = AskedReplica(address, self._params.token, self._params.tls)
            self._asked[address] = asked
        return asked

    def _say(self, of: str, what: str) -> None:
        """Once, as long as it stays so."""
        if self._said.get(of, "") != what and what:
            say(what, logging.WARNING)
        self._said[of] = what

    async def close(self) -> None:
        """End the connections over which servers are asked what they serve."""
        if self._queries is not None:
            self._queries.close()
        self._asking.shutdown(wait=False, cancel_futures=True)
        await asyncio.gather(*(asked.close() for asked in self._asked.values()))
