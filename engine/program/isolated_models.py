"""A program's models in processes of their own, behind the program's server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from surplus.engine.errors import ConfigError
from surplus.engine.isolation.groups import check_groups
from surplus.engine.isolation.nursery import Nursery
from surplus.engine.isolation.workers import Loading, Workers
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams

_VERSION = "1"


class IsolatedModels(AbstractContextManager["IsolatedModels"]):
    """Files that are loaded in processes, which end with its block.

    Parameters
    ----------
    files : mapping of str to path
        By the models' names.
    groups : mapping of str to sequence of str
        Names of models that share a process; the others have one each.
    loading : LoadParams
        Of each of them.

    Raises
    ------
    ConfigError
        If a model is loaded already, or a group names one that is not there, or one twice.
    """

    def __init__(
        self, files: Mapping[str, Any], groups: Mapping[str, Sequence[str]], loading: LoadParams
    ) -> None:
        for name, file in files.items():
            if not isinstance(file, str | Path):
                raise ConfigError(
                    f"{name!r} is a {type(file).__name__} of this process, and isolate=... loads"
                    " models in others: give its file"
                )
        check_groups(groups, list(files))
        self._entries = [RepositoryEntry(n, _VERSION, Path(file)) for n, file in files.items()]
        self._groups = groups
        self._loading = Loading(dict.fromkeys(files, loading), lazy=False)
        self._nursery: Nursery | None = None

    def __enter__(self) -> Self:
        self._nursery = Nursery().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._nursery is not None:
            self._nursery.__exit__()

    async def make_ready(self, server: AsyncServer, params: ServerParams) -> None:
        """Have a server that was started answer for them.

        Raises
        ------
        ConfigError
            If one cannot be loaded; the message says why.
        """
        assert self._nursery is not None, "within its block"
        models = server.plane.models
        served = [(entry, models.add(entry.name, entry.version)) for entry in self._entries]
        workers = Workers(params, self._groups, self._loading, self._nursery)
        ready = await workers.make_ready(server, served)
        if left := [f"{entry.name}: {m.reason}" for entry, m in served if (entry, m) not in ready]:
            raise ConfigError("; ".join(left))
