"""A case: what to ask, and what must come of it, whatever the face."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tests.serving.conformance.clients import STREAM, Client

NOT_ASKED = "not asked"
"""Of a Triton that ends of it, or answers otherwise in words or statuses that vary."""


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
        What a real Triton gives, where that is known to differ and meant to; or NOT_ASKED.
    streamed : bool
        Whether it is asked through a stream, too.
    """

    name: str
    run: Callable[[Client], Any]
    expected: Any
    not_over: Collection[str] = ()
    triton: Any = None
    streamed: bool = False

    def is_for(self, face: str) -> bool:
        """Whether it can be asked over that face."""
        return face not in self.not_over and (self.streamed or face != STREAM)


@dataclass
class Cases:
    """Those of one subject.

    Parameters
    ----------
    streamed : bool
        Whether they are asked through a stream, too: of queries, and not of statuses.
    """

    subject: str
    streamed: bool = False
    all: list[Case] = field(default_factory=list)

    def __call__(
        self, expected: Any, not_over: Collection[str] = (), triton: Any = None
    ) -> Callable[[Callable[[Client], Any]], Callable[[Client], Any]]:
        """A decorator that makes a case of a function."""

        def add(run: Callable[[Client], Any]) -> Callable[[Client], Any]:
            self.add(run.__name__, run, expected, not_over, triton)
            return run

        return add

    def add(
        self,
        name: str,
        run: Callable[[Client], Any],
        expected: Any,
        not_over: Collection[str] = (),
        triton: Any = None,
    ) -> None:
        """Add a case."""
        whole = f"{self.subject}: {name}"
        self.all.append(Case(whole, run, expected, not_over, triton, self.streamed))
