"""What works for a deployment on one node: keeps a server, and the models that it is to serve.

Who serves what is not decided here. What is asked for is copied and handed to the server by a
thread, so that no question waits for a copy.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.cache.private import private_folder
from surplus.engine.cache_folder import cache_folder
from surplus.engine.deployment.asked_node import ServerState, ask
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import NodeServers, Options
from surplus.engine.deployment.server_process import ServerProcess
from surplus.engine.deployment.shared_repository import open_repository
from surplus.engine.deployment.staged_models import StagedModels
from surplus.engine.deployment.staging import Staging
from surplus.engine.errors import UnavailableError

POLL_S = 0.2
"""From one look of the server at its models to the next; it loads what was the same at two."""
_GRACE_S = 5.0
"""For which a server serves on whose place another one has taken."""
_HUNG_S = 20.0
"""A server that runs, and has not answered for so long, is ended, to be started again."""


@dataclass(frozen=True)
class AgentParams:
    """What a node needs to know.

    Parameters
    ----------
    deployment : str
    node : str
        Its own id.
    host : str
        To listen on.
    repository : str
        Of all nodes.
    serve : tuple of str
        Options of ``engine serve``.
    resources : mapping of str to float
        That it takes of the node, as Ray counts them.
    drain_s : float
        For queries in flight when a server ends.
    folder : str
        For copies of models; empty for one in the user's cache.
    """

    deployment: str
    node: str
    host: str
    repository: str
    serve: tuple[str, ...] = ()
    resources: Mapping[str, float] = field(default_factory=dict)
    drain_s: float = 30.0
    folder: str = ""

    @property
    def mark(self) -> str:
        """Of what an agent cannot change while it lives."""
        text = json.dumps([self.host, self.repository, dict(self.resources)])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def own_folder(self) -> Path:
        """Where its files are."""
        base = Path(self.folder) if self.folder else cache_folder() / "deployments"
        return base / self.deployment / self.node[:16]


class NodeAgent:
    """One node's. Its calls are for one thread.

    Raises
    ------
    ConfigError
        If the repository cannot be read here.
    """

    def __init__(self, params: AgentParams) -> None:
        folder = private_folder(params.own_folder)
        models = StagedModels(folder, open_repository(params.repository))
        self._staging = Staging(models)
        self._note = folder / "wanted.json"
        self._wanted = _read(self._note)
        self._staging.want(self._wanted)
        self._answered_s = time.monotonic()
        fixed = [str(models.folder), "--model-control-mode", "poll"]
        fixed += ["--repository-poll-s", str(POLL_S)]
        log = folder / "server.log"
        log.unlink(missing_ok=True)

        def start(options: Options) -> ServerProcess:
            return ServerProcess([*fixed, *options], params.host, log, params.drain_s)

        self._servers = NodeServers(start, params.serve, _GRACE_S)

    def look(
        self, wanted: ModelVersions | None = None, options: Options | None = None
    ) -> NodeReport:
        """Say what there is; have other models served, with other options, if they are given."""
        if options is not None:
            self._servers.want(options)
        if wanted is not None and wanted != self._wanted:
            self._wanted = wanted
            self._staging.want(wanted)
            write_atomic(self._note, json.dumps(wanted).encode())
        staged, uncopied = self._staging.done()
        self._servers.advance(staged, _answer)
        addresses = self._servers.current.addresses
        state = self._state(addresses.http)
        common: dict[str, Any] = {
            "staged": staged,
            "uncopied": uncopied,
            "starts": self._servers.starts,
            "options": self._servers.options,
            "error": self._servers.trouble,
        }
        if state is None:
            return NodeReport(**common)
        failed = {
            row.name: row.reason
            for row in state.failed
            # A version that is not wanted any more may have failed as its files went.
            if row.state == "READY" or row.version in map(str, staged.get(row.name, ()))
        }
        return NodeReport(
            addresses,
            ready=state.ready,
            failed=failed,
            queries=state.queries,
            pending=state.pending,
            lanes=state.lanes,
            **common,
        )

    def close(self) -> None:
        """Have the server answer what it has, and end; blocks until then."""
        self._note.unlink(missing_ok=True)
        self._staging.close()
        self._servers.close()

    @property
    def server_pid(self) -> int:
        """Of the server's process; 0 if there is none just now."""
        return self._servers.current.pid

    def _state(self, address: str) -> ServerState | None:
        """None if there is no server that answers."""
        now_s = time.monotonic()
        found = _answer(address)
        if found is not None or not address:
            self._answered_s = now_s
        elif now_s - self._answered_s > _HUNG_S:
            self._answered_s = now_s
            self._servers.current.kill()
        return found


def _answer(address: str) -> ServerState | None:
    """None where none is, or comes in time."""
    try:
        return ask(address) if address else None
    except UnavailableError:
        return None


def _read(note: Path) -> ModelVersions:
    """What was wanted of an agent that ended without being told to; nothing, if none did."""
    try:
        read = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: tuple(versions) for name, versions in read.items()}
