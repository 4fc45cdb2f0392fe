"""The extension point of dispatchers: what runs next, where, how much of it; what is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.registry import Registry
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.frame.state import State


@dataclass(frozen=True)
class Context:
    """What a dispatcher knows beforehand; the deployment is in each state."""

    services: tuple[Service, ...]
    devices: tuple[ServingDevice, ...]
    predictor: Predictor


class Dispatcher(Protocol):
    """Decides at each event; neither reads clocks nor draws random numbers.

    The same events lead to the same decisions. A dispatcher may remember what it decided (whose
    turn it is), but nothing that the events did not tell it, and it forgets what it planned for a
    deployment when ``state.deployment`` is another one: partitions may have closed since, and
    queries of services that have no place any more are gone.
    """

    def decide(self, state: State, event: Event) -> Decision:
        """Say what to do now.

        It is asked again about the same event, with the new state, until nothing comes of its
        answer; so it may decide one thing at a time.
        """
        ...


DISPATCHERS: Registry[Dispatcher] = Registry("dispatcher")
"""Factories take a ``Context``, then options."""
