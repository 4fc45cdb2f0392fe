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
from surplus.engine.deployment.server_process import ServerProcess
from surplus.engine.deployment.shared_repository import open_repository
from surplus.engine.deployment.staged_models import StagedModels
from surplus.engine.deployment.staging import Staging
from surplus.engine.errors import UnavailableError

POLL_S = 0.2
"""From one look of the server at its models to the next; it loads what was the same at two."""
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
        text = json.dumps([self.host, self.repository, self.serve, dict(self.resources)])
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
        options = [str(models.folder), "--model-control-mode", "poll"]
        options += ["--repository-poll-s", str(POLL_S), *params.serve]
        self._server = ServerProcess(options, params.host, folder / "server.log", params.drain_s)

    def look(self, wanted: ModelVersions | None = None) -> NodeReport:
        """Say what there is, and have other models served from now on, if they are given."""
        if wanted is not None and wanted != self._wanted:
            self._wanted = wanted
            self._staging.want(wanted)
            write_atomic(self._note, json.dumps(wanted).encode())
        addresses = self._server.addresses
        state = self._state(addresses.http)
        staged, uncopied = self._staging.done()
        common: dict[str, Any] = {
            "staged": staged,
            "uncopied": uncopied,
            "starts": self._server.starts,
        }
        if state is None:
            error = "" if self._server.pid else self._server.last_words
            return NodeReport(error=error, **common)
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
        self._server.close()

    @property
    def server_pid(self) -> int:
        """Of the server's process; 0 if there is none just now."""
        return self._server.pid

    def _state(self, address: str) -> ServerState | None:
        """None if there is no server that answers."""
        now_s = time.monotonic()
        try:
            found = ask(address) if address else None
        except UnavailableError:
            found = None
        if found is not None or not address:
            self._answered_s = now_s
        elif now_s - self._answered_s > _HUNG_S:
            self._answered_s = now_s
            self._server.kill()
        return found


def _read(note: Path) -> ModelVersions:
    """What was wanted of an agent that ended without being told to; nothing, if none did."""
    try:
        read = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: tuple(versions) for name, versions in read.items()}
