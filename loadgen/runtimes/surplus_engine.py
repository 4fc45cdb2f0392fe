"""Our own engine, where it is installed; found by name, as nothing of it may be imported here."""

from __future__ import annotations

from importlib import import_module

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.errors import TargetError
from surplus.loadgen.runtimes.runtime import Feed, register


class SurplusModel:
    """``surplus.load`` with its defaults."""

    def __init__(self, path: str) -> None:
        try:
            load = import_module("surplus").load
        except (ImportError, AttributeError) as error:
            raise TargetError(f"the engine is not installed: {error}") from error
        try:
            self._model = load(path)
        except Exception as error:  # its tree of errors is not ours to import
            raise TargetError(f"the engine cannot load {path}: {error}") from error

    def run(self, feed: Feed, priority: int) -> Answer:
        """Answer a query in the calling thread and on the engine's lanes."""
        if not priority:
            answer: Answer = self._model.run(feed)
        else:
            answer = self._model.submit(feed, priority=priority).result()
        return answer

    def close(self) -> None:
        """Give its lanes back."""
        self._model.close()


register("surplus")(SurplusModel)
