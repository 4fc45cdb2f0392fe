"""What takes models out of service and back while the server runs."""

from __future__ import annotations

from typing import Protocol

from surplus.engine.serving.served_model import ServedModel


class ModelControl(Protocol):
    """Knows what stands behind the models. On the server's event loop."""

    def load(self, model: ServedModel) -> None:
        """Put a model back; nothing if it is there.

        Raises
        ------
        EngineError
            If that cannot be done.
        """
        ...

    def unload(self, model: ServedModel) -> None:
        """Take a model out: queries in flight finish, or are answered with the reason."""
        ...
