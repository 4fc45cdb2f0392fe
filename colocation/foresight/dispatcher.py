"""Serves in the way that the deployment was made for."""

from __future__ import annotations

from typing import Any

from surplus.colocation.foresight.ways import way
from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context, Dispatcher
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State

_PRICED = "priced"
_PROMISED = "promised"


@DISPATCHERS.register("foresight")
class Foresighted:
    """A dispatcher of another kind, made anew when a deployment is of another mode.

    Parameters
    ----------
    **options
        Of ``priced``, wherever that serves: weights, a guarantee; with ``promise`` of ``promised``.
    """

    def __init__(self, context: Context, **options: Any) -> None:
        self._context = context
        self._options = options
        self._mode: str | None = None
        self._own: Dispatcher = self._made(_PRICED, {})

    def decide(self, state: State, event: Event) -> Decision:
        """As the dispatcher of the mode does."""
        mode = state.deployment.mode
        if mode != self._mode:
            self._mode = mode
            if mode:
                spec = way(mode)
                self._own = self._made(spec.dispatcher, dict(spec.dispatcher_options))
        return self._own.decide(state, event)

    def _made(self, kind: str, options: dict[str, Any]) -> Dispatcher:
        if kind != _PRICED:
            return DISPATCHERS.make(kind, self._context, **options)
        kind = _PROMISED if "promise" in self._options else _PRICED
        return DISPATCHERS.make(kind, self._context, **{**options, **self._options})
