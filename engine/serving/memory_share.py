"""What one query takes of the server's memory account, from its bytes to its answer."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from surplus.engine import _core
from surplus.engine.errors import MemoryLimitError


class MemoryShare:
    """Gives back, when its block ends, all that was taken within.

    Parameters
    ----------
    account : _core.MemoryAccount
        The server's.
    """

    def __init__(self, account: _core.MemoryAccount) -> None:
        self._account = account
        self._bytes = 0

    def take(self, size_bytes: int, what: str) -> None:
        """Count so many bytes, before they are there.

        Raises
        ------
        MemoryLimitError
            If the server may not hold them as well; the message says what they are for.
        """
        if not self._account.try_take(size_bytes):
            raise MemoryLimitError(
                f"{what}: {size_bytes} bytes more are above the server's memory limit of"
                f" {self._account.limit_bytes}; ask again later"
            )
        self._bytes += size_bytes

    def give_all(self) -> None:
        """Give everything back; once more does nothing."""
        size_bytes, self._bytes = self._bytes, 0
        self._account.give(size_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.give_all()
