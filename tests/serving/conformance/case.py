"""A case: what to ask, and what must come of it, whatever the face."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tests.serving.conformance.clients import Client

NOT_ASKED = "not asked"
"""Of a Triton: it ends."""


@dataclass(frozen=True)
class Case:
    """One of the suite.

    Parameters
    ----------
    run : callable
        Asks, and gives what is to be compared.
    expected : object
        What that is.
    not_over : collection of str
        Faces whose client cannot ask it.
    triton : object
        What a real Triton gives, where that is known to differ and meant to; NOT_ASKED if it must
        not be asked.
    """

    name: str
    run: Callable[[Client], Any]
    expected: Any
    not_over: Collection[str] = ()
    triton: Any = None


@dataclass
class Cases:
    """Those of one subject."""

    subject: str
    all: list[Case] = field(default_factory=list)

    def __call__(
        self, expected: Any, not_over: Collection[str] = (), triton: Any = None
    ) -> Callable[[Callable[[Client], Any]], Callable[[Client], Any]]:
        """A decorator that makes a case of a function."""

        def add(run: Callable[[Client], Any]) -> Callable[[Client], Any]:
            self.add(run.__name__, run, expected, not_over, triton)
            return run

        return add

    def add(self, name: str, *rest: Any) -> None:
        """Add a case."""
        self.all.append(Case(f"{self.subject}: {name}", *rest))
