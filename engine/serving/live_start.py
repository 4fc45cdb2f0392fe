"""What has a server load and unload models once it has loaded those of its start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.live_repository import LiveRepository, LoadServable
from surplus.engine.serving.memory_budget import MemoryBudget
from surplus.engine.serving.polling import Polling
from surplus.engine.serving.server import AsyncServer


@dataclass(frozen=True)
class LiveStart:
    """Which models a server has at its start.

    Parameters
    ----------
    roots : sequence of Path
        Where models come from.
    mode : str
        "none", "poll" or "explicit".
    poll_s : float
        From one look at the files to the next.
    entries : sequence of RepositoryEntry
        What is loaded at the start.
    known : mapping of str to str
        Stamps of the files as they were before those were read.
    """

    roots: Sequence[Path]
    mode: str
    poll_s: float
    entries: Sequence[RepositoryEntry]
    known: Mapping[str, str]

    @property
    def is_live(self) -> bool:
        """Whether models come and go later."""
        return self.mode != "none"

    @property
    def stamps(self) -> dict[str, str]:
        """Of the files of each model that is loaded."""
        names = {entry.name for entry in self.entries} & set(self.known)
        return {name: self.known[name] for name in names}


def begin_budget(server: AsyncServer, budget: MemoryBudget) -> None:
    """Wake models for queries of the server from now on, until it ends."""
    budget.begin(server.plane.models)
    server.close_with(budget.close)


def begin_control(server: AsyncServer, start: LiveStart, load: LoadServable) -> None:
    """Load and unload by the start's mode from now on, until the server ends.

    Parameters
    ----------
    load : callable
        Loads a version, in a thread.
    """
    if not start.is_live:
        return
    repository = LiveRepository(start.roots, server.plane.models, load)
    repository.adopt(start.stamps)
    if start.mode == "explicit":
        server.plane.control = repository
    else:
        task = asyncio.create_task(Polling(repository, start.poll_s).run())
        server.close_with(lambda: _ended(task))
    server.close_with(repository.close)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
