"""A server takes the place of another one when it has all models, and not before."""

from __future__ import annotations

import threading

from surplus.engine.deployment.asked_node import ServerState
from surplus.engine.deployment.node_servers import NodeServers, Options
from surplus.engine.deployment.server_process import Addresses

OLD, NEW, NEWER = ("old",), ("new",), ("newer",)
STAGED = {"net": (1,)}


class FakeServer:
    def __init__(self, options: Options) -> None:
        name = options[0]
        self.addresses = Addresses(name, name, name)
        self.starts = 1
        self.pid = 1
        self.last_words = f"{name} has ended"
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Started:
    """Servers that were started, and what those that answer serve."""

    def __init__(self, grace_s: float) -> None:
        self.servers: dict[str, FakeServer] = {}
        self.serving: dict[str, dict[str, tuple[int, ...]]] = {}
        self.node = NodeServers(self._start, OLD, grace_s)  # type: ignore[arg-type]

    def advance(self) -> None:
        self.node.advance(STAGED, self._ask)

    def _start(self, options: Options) -> FakeServer:
        self.servers[options[0]] = FakeServer(options)
        return self.servers[options[0]]

    def _ask(self, address: str) -> ServerState | None:
        ready = self.serving.get(address)
        return None if ready is None else ServerState(ready, [], {}, 0, 1)


def test_the_new_one_takes_over_when_it_has_all_models() -> None:
    started = Started(grace_s=0.0)
    started.node.want(NEW)
    for serving in (None, {}, {"net": (2,)}):
        if serving is not None:
            started.serving["new"] = serving
        started.advance()
        assert started.node.options == OLD
    started.serving["new"] = STAGED
    started.advance()
    assert started.node.options == NEW
    assert started.node.current.addresses.http == "new"
    assert started.node.starts == 2
    assert started.servers["old"].closed.wait(30)
    assert not started.servers["new"].closed.is_set()


def test_the_old_one_serves_on_for_who_does_not_know() -> None:
    started = Started(grace_s=1e6)
    started.node.want(NEW)
    started.serving["new"] = STAGED
    started.advance()
    assert not started.servers["old"].closed.is_set()
    started.node.close()  # waits for nothing more
    assert started.servers["old"].closed.is_set()
    assert started.servers["new"].closed.is_set()


def test_what_is_wanted_may_change_on_the_way() -> None:
    started = Started(grace_s=0.0)
    started.node.want(NEW)
    started.node.want(NEWER)
    assert started.servers["new"].closed.wait(30)
    started.node.want(OLD)
    assert started.servers["newer"].closed.wait(30)
    started.advance()
    assert started.node.options == OLD
    assert not started.servers["old"].closed.is_set()


def test_one_that_cannot_start_says_why() -> None:
    started = Started(grace_s=0.0)
    assert started.node.trouble == ""
    started.node.want(NEW)
    started.servers["new"].pid = 0
    started.advance()
    assert started.node.trouble == "new has ended"
    assert started.node.options == OLD
