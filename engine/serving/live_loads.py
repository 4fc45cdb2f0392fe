"""How a version is loaded while a server runs: at once, by its first query, or within a budget."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.loads import checked, loaded
from surplus.engine.serving.memory_budget import MemoryBudget
from surplus.engine.serving.servable import Servable


class LiveLoads:
    """Makes servables; in any thread.

    Parameters
    ----------
    params : mapping of str to LoadParams
        By the models' names.
    usual : LoadParams
        Of models that it does not name.
    lazy : bool
        Whether they are only checked, and loaded by their first query.
    memory_bytes : int
        What all that are loaded may take together; 0 is no limit.

    Attributes
    ----------
    budget : MemoryBudget, optional
        Keeps to that.
    """

    def __init__(
        self, params: Mapping[str, LoadParams], usual: LoadParams, *, lazy: bool, memory_bytes: int
    ) -> None:
        self._params = params
        self._usual = usual
        self._lazy = lazy
        self.budget = (
            MemoryBudget(memory_bytes, self._loaded, self._checked) if memory_bytes else None
        )

    def __call__(self, entry: RepositoryEntry) -> Servable:
        """A version, ready; raises as ``loads.loaded``."""
        if self.budget is not None:
            return self.budget.resting(entry)
        return self._checked(entry) if self._lazy else self._loaded(entry)

    def _loaded(self, entry: RepositoryEntry) -> Servable:
        return loaded(entry, self._of(entry))

    def _checked(self, entry: RepositoryEntry) -> Servable:
        return checked(entry, self._of(entry))

    def _of(self, entry: RepositoryEntry) -> LoadParams:
        return self._params.get(entry.name, self._usual)
