"""A node's server, and the one that takes its place with other options, without a query lost.

The new one is started beside the old one, and loads the same models. Once it has them all, its
addresses are the node's; the old one serves on for clients that do not know yet, answers what it
has, and ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from surplus.engine.deployment.asked_node import ServerState
from surplus.engine.deployment.server_process import ServerProcess
from surplus.engine.deployment.staged_models import Versions

Options = tuple[str, ...]


class NodeServers:
    """For one thread.

    Parameters
    ----------
    start : callable
        A server with these options.
    options : tuple of str
        Of the first one.
    grace_s : float
        For which an old one serves on.
    """

    def __init__(
        self, start: Callable[[Options], ServerProcess], options: Options, grace_s: float
    ) -> None:
        self._start = start
        self._grace_s = grace_s
        self._is_closed = threading.Event()
        self._leaving: list[threading.Thread] = []
        self._starts_before = 0
        self._next: tuple[Options, ServerProcess] | None = None
        self.options = options
        self.current = start(options)

    @property
    def starts(self) -> int:
        """Of all servers so far."""
        return self._starts_before + self.current.starts

    @property
    def trouble(self) -> str:
        """Why there is no server, or none with other options; empty if there is, or it starts."""
        servers = [self.current, *([] if self._next is None else [self._next[1]])]
        return next((one.last_words for one in servers if not one.pid), "")

    def want(self, options: Options) -> None:
        """Have a server with these options take over as soon as it can."""
        if self._next is not None and self._next[0] != options:
            self._leave(self._next[1], 0.0)
            self._next = None
        if self._next is None and options != self.options:
            self._next = (options, self._start(options))

    def advance(
        self,
        staged: dict[str, Versions],
        ask: Callable[[str], ServerState | None],
    ) -> None:
        """Let the new one take over, if there is one that has all models."""
        if self._next is None:
            return
        options, server = self._next
        state = ask(server.addresses.http)
        if state is not None and all(state.ready.get(name) == own for name, own in staged.items()):
            self._starts_before += self.current.starts
            self._leave(self.current, self._grace_s)
            self.options, self.current, self._next = options, server, None

    def close(self) -> None:
        """Have all answer what they have, and end; blocks until then."""
        self._is_closed.set()
        for server in (self.current, *([] if self._next is None else [self._next[1]])):
            server.close()
        for thread in self._leaving:
            thread.join()

    def _leave(self, server: ServerProcess, grace_s: float) -> None:
        def end() -> None:
            self._is_closed.wait(grace_s)
            server.close()

        thread = threading.Thread(target=end, name="surplus former server", daemon=True)
        self._leaving = [one for one in self._leaving if one.is_alive()] + [thread]
        thread.start()
