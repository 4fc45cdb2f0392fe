"""What loads and unloads models on request while the server runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from surplus.engine.serving.load_request import Override


class ModelControl(Protocol):
    """Knows what stands behind the models. On the server's event loop."""

    async def load(self, name: str, override: Override | None = None) -> None:
        """Serve a model as its files are now; nothing if they are as they were.

        Parameters
        ----------
        override : Override, optional
            What it is loaded with in place of them.

        Raises
        ------
        UnknownModelError
            If there is no such model.
        EngineError
            If it cannot be loaded; whatever was served before still is.
        """
        ...

    async def unload(self, name: str, *, dependents: bool = False) -> None:
        """Take every version of a model out: queries in flight finish, or are told why not.

        Parameters
        ----------
        dependents : bool
            Whether those that an ensemble is made of go with it.

        Raises
        ------
        UnknownModelError
            If there is no such model.
        """
        ...

    async def unlisted(self) -> Sequence[str]:
        """Names of models that could be loaded and never were."""
        ...
