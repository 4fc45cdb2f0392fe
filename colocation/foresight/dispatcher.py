"""Serves in the way that the deployment was made for."""

from __future__ import annotations

from typing import Any

from surplus.colocation.foresight.aim import OURS, served_by
from surplus.colocation.foresight.ways import way
from surplus.colocation.frame.decision import NOTHING, Decision, Drop
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context, Dispatcher
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.state import State
from surplus.colocation.policies.surplus.dispatcher import Priced


@DISPATCHERS.register("foresight")
class Foresighted:
    """A dispatcher of another kind, made anew when a deployment is of another mode.

    The one that comes then finds nothing that another one left half done: groups that run have
    ended, unless it is ``priced``, which knows what runs from the state; queries that were
    answered in part are given up, if it cannot go on with parts.

    Parameters
    ----------
    **options
        Of ``priced``, wherever that serves. With ``promise`` that is ``promised``. The planner is
        told those that a choice among ways depends on (``aim.py``).
    """

    def __init__(self, context: Context, **options: Any) -> None:
        self._context = context
        self._options = options
        self._mode = ""
        self._own: Dispatcher = self._made(OURS, {})
        self._parts = True
        self._before: frozenset[int] = frozenset()
        self._last: tuple[Event, Event] | None = None

    def decide(self, state: State, event: Event) -> Decision:
        """As the dispatcher of the mode does."""
        if state.deployment.mode not in ("", self._mode):
            self._go_over(state)
        if self._before:
            running = {group.id for group in state.groups}
            if self._before & running:
                return NOTHING
            self._before = frozenset()
            if event.group is not None:
                self._last = event, Event(event.time_ns, EventKind.ALARM)
        if self._last is not None and self._last[0] is event:
            event = self._last[1]  # it was another one's group
        if state.progress and not self._parts:
            begun = _begun(state)
            if begun.drops:
                return begun
        return self._own.decide(state, event)

    def _go_over(self, state: State) -> None:
        """To the dispatcher of another mode."""
        first, self._mode = not self._mode, state.deployment.mode
        spec = way(self._mode)
        self._own = self._made(spec.dispatcher, dict(spec.dispatcher_options))
        self._parts = spec.runs_parts and not isinstance(self._own, Priced)
        waits = not first and not isinstance(self._own, Priced)
        running = (group.id for group in state.groups)
        self._before = frozenset(running if waits else ())

    def _made(self, kind: str, options: dict[str, Any]) -> Dispatcher:
        if kind == OURS:
            kind, options = served_by(options, self._options)
        return DISPATCHERS.make(kind, self._context, **options)


def _begun(state: State) -> Decision:
    """Give up what waits and was answered in part."""
    queries = (query for waiting in state.waiting for query in waiting)
    drops = (Drop(query, state.now_ns) for query in queries if query.id in state.progress)
    return Decision(drops=tuple(drops))
