"""Names for implementations of an extension point: one file registers one class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from surplus.colocation.files.options import checked_options

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Factories of one kind of object by name, in order of registration."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._factories: dict[str, Callable[..., T]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator that makes an implementation available under ``name``."""

        def add(factory: C) -> C:
            if name in self._factories:
                raise ValueError(f"{self._kind} {name!r} is registered twice")
            self._factories[name] = factory
            return factory

        return add

    def names(self) -> list[str]:
        """All names."""
        return list(self._factories)

    def get(self, name: str) -> Callable[..., T]:
        """Look a factory up.

        Raises
        ------
        ValueError
            If there is none of that name; the message lists those that there are.
        """
        if name not in self._factories:
            known = ", ".join(self._factories)
            raise ValueError(f"unknown {self._kind} {name!r}; there are: {known}")
        return self._factories[name]

    def make(self, name: str, /, *arguments: Any, **options: Any) -> T:
        """Build one.

        Raises
        ------
        ValueError
            If the name or an option is unknown, or a value of a wrong type or out of range.
        """
        factory = self.get(name)
        try:
            return factory(*arguments, **checked_options(factory, options))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._kind} {name!r}: {error}") from error
