"""Work of another thread while this one does its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Callable[[], T]:
    """Begin it in a thread of its own.

    Returns
    -------
    callable
        Waits for it, and returns or raises what it did.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    def result() -> T:
        thread.join()
        if errors:
            raise errors[0]
        return results[0]

    thread = threading.Thread(target=run, name="beside")
    thread.start()
    return result
