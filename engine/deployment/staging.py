"""Brings a node's files to what is wanted, in a thread: no question waits for a copy."""

from __future__ import annotations

import threading

from surplus.engine.deployment.node_report import ModelVersions
from surplus.engine.deployment.staged_models import StagedModels, Versions
from surplus.engine.errors import EngineError, one_line

_AGAIN_S = 5.0
"""What could not be copied is tried again after so long."""


class Staging:
    """A thread and what it has done.

    Parameters
    ----------
    models : StagedModels
        Its alone from now on.
    """

    def __init__(self, models: StagedModels) -> None:
        self._models = models
        self._wanted: dict[str, Versions] = {}
        self._done: dict[str, Versions] = {}
        self._failed: dict[str, tuple[Versions, str]] = {}
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="surplus staging", daemon=True)
        self._thread.start()

    def want(self, wanted: ModelVersions) -> None:
        """Have these models, and no others, lie there soon."""
        with self._changed:
            self._wanted = dict(wanted)
            self._changed.notify()

    def done(self) -> tuple[dict[str, Versions], dict[str, str]]:
        """What lies there, and why what is wanted does not."""
        with self._changed:
            errors = {name: why for name, (_, why) in self._failed.items()}
            return dict(self._done), errors

    def close(self) -> None:
        """Blocks until a copy in progress is done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(self._has_work, _AGAIN_S):
                    self._failed.clear()
                    continue
                if self._is_closed:
                    return
                wanted, done = dict(self._wanted), dict(self._done)
                self._failed.clear()
            for name in done.keys() - wanted.keys():
                self._models.unstage(name)
                with self._changed:
                    del self._done[name]
            for name, versions in sorted(wanted.items()):
                if done.get(name) != versions:
                    self._stage(name, versions)

    def _has_work(self) -> bool:
        if self._is_closed:
            return True
        tried = {name: versions for name, (versions, _) in self._failed.items()}
        return self._done | tried != self._wanted

    def _stage(self, name: str, versions: Versions) -> None:
        try:
            self._models.stage(name, versions)
        except (EngineError, OSError) as error:
            with self._changed:
                self._failed[name] = (versions, one_line(error))
        else:
            with self._changed:
                self._done[name] = versions
