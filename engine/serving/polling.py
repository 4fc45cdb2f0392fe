"""Looks for models that have come, changed or gone, again and again."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from surplus.engine.ensembles.step_models import stamp_with_steps
from surplus.engine.errors import EngineError, one_line
from surplus.engine.serving.live_repository import LiveRepository
from surplus.engine.serving.say import say

_log = logging.getLogger(__name__)


class Polling:
    """Keeps what is served as a repository is on disk.

    Files that are being written are waited for: a folder is loaded when it has been the same at two
    looks. One that could not be loaded is tried again once it has changed.

    Parameters
    ----------
    every_s : float
        From one look to the next.
    """

    def __init__(self, repository: LiveRepository, every_s: float) -> None:
        self._repository = repository
        self._every_s = every_s
        self._seen: dict[str, str] = {}
        self._complaint = ""

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            await self.look()

    async def look(self) -> None:
        """Once; what is wrong with a model, or with the repository, is said and left as it was."""
        try:
            folders = await self._repository.folders()
        except (EngineError, OSError) as error:
            self._complain(one_line(error))
            return
        self._complaint = ""
        stamps = await asyncio.to_thread(_stamps, folders)
        for name in stamps:
            if stamps[name] == self._seen.get(name) != self._repository.stamp(name):
                with suppress(EngineError):  # said, and in the index
                    await self._repository.load(name)
        for name in self._repository.tried:
            if name not in folders:
                await self._repository.unload(name)
                say(f"{name}: its folder is gone, it is not served any more")
        self._seen = stamps

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            say(f"the repository cannot be read: {text}")
        self._complaint = text


def _stamps(folders: dict[str, Path]) -> dict[str, str]:
    return {name: stamp_with_steps(folder) for name, folder in folders.items()}
