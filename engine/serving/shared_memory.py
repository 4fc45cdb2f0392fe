"""Tensors in regions of shared memory that clients registered, so that no query sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from surplus.engine import _core, errors
from surplus.engine.serving.codec import Buffer
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.servable import Array
from surplus.engine.serving.server_params import LARGEST_MESSAGE_BYTES

_ERRORS: dict[str, type[errors.EngineError]] = {
    "unknown": errors.UnknownRegionError,
    "exists": errors.RegionExistsError,
    "invalid": errors.InputError,
    "unreachable": errors.SharedMemoryError,
    "shrunk": errors.InputError,
    "too_many": errors.TooManyRegionsError,
    "no_gpu": errors.InputError,
}


@dataclass(frozen=True)
class RegionPart:
    """Where in shared memory a tensor lies, or is to lie.

    Parameters
    ----------
    region : str
        Name of a registered region.
    offset : int
        In bytes, within the region.
    size_bytes : int
        Of an output, as much as there is room for.
    """

    region: str
    offset: int
    size_bytes: int


class SharedRegions:
    """The regions of one server.

    Parameters
    ----------
    most_bytes : int
        Of one tensor: what is read is held, as a request is.
    is_open : bool
        Whether clients may register any.
    """

    def __init__(self, most_bytes: int = LARGEST_MESSAGE_BYTES, *, is_open: bool = True) -> None:
        self.table = _core.SharedMemory()
        self._most_bytes = most_bytes
        self._is_open = is_open

    def register(self, name: str, key: str, offset: int, size_bytes: int) -> None:
        """Let queries name a part of the shared memory of a key.

        Raises
        ------
        InputError
            If name or key cannot be, or the memory is smaller.
        RegionExistsError, TooManyRegionsError, SharedMemoryError
            If it is there already, one too many, or cannot be opened.
        UnsupportedError
            If clients may register none.
        """
        with self.registering():
            self.table.register(_named(name), _named(key), offset, size_bytes)

    @contextmanager
    def registering(self) -> Iterator[None]:
        """What the core says of a region that is to be registered, as one of our errors.

        Raises
        ------
        UnsupportedError
            If clients may register none.
        """
        if not self._is_open:
            raise errors.UnsupportedError(
                "this server takes no shared memory: it listens where other machines may ask; "
                "--shared-memory lets them"
            )
        with _told():
            yield

    def unregister(self, name: str = "") -> None:
        """Forget a region, or all; queries under way finish."""
        if name:
            self.table.unregister(_named(name))
        else:
            self.table.clear()

    def status(self, name: str = "") -> list[dict[str, Any]]:
        """Name, key, offset and byte_size of one region, or of all.

        Raises
        ------
        UnknownRegionError
            If there is none of that name.
        """
        if not name:
            return self.table.rows()
        try:
            return [self.table.find(_named(name))]
        except _core.RegionError:
            raise errors.UnknownRegionError(
                f"Unable to find system shared memory region: {name!r}"
            ) from None

    def check(self, part: RegionPart) -> None:
        """Raise InputError or UnknownRegionError unless that part is registered."""
        with _told():
            self.table.check(_named(part.region), part.offset, part.size_bytes)

    def read(self, tensor: str, part: RegionPart, share: MemoryShare | None = None) -> bytes:
        """Bytes of an input.

        Parameters
        ----------
        share : MemoryShare, optional
            Counts them before they are there.

        Raises
        ------
        InputError
            If they are not in the region, too many, or were truncated meanwhile.
        UnknownRegionError, SharedMemoryError
            If there is no such region, or it cannot be read.
        MemoryLimitError
            If the server has no room for them.
        """
        if part.size_bytes > self._most_bytes:
            raise errors.InputError(
                f"input {tensor!r}: shared_memory_byte_size is {part.size_bytes}, "
                f"at most {self._most_bytes} bytes are taken"
            )
        if share is not None:
            share.take(part.size_bytes, f"input {tensor!r}")
        with _told():
            return self.table.read(_named(part.region), part.offset, part.size_bytes)

    def write(self, tensor: str, part: RegionPart, data: Buffer | Array) -> None:
        """Put an output there; raises as :meth:`read`, and ExecutionError if it has no room."""
        if len(data) > part.size_bytes:
            raise errors.ExecutionError(
                f"shared memory size specified with the request for output {tensor!r} "
                f"({part.size_bytes} bytes) should be at least {len(data)} bytes to hold the "
                "results"
            )
        if len(data):
            with _told():
                self.table.write(_named(part.region), part.offset, data)


@contextmanager
def _told() -> Iterator[None]:
    """The core's error of a region as one of ours."""
    try:
        yield
    except _core.RegionError as error:
        raise _ERRORS[error.fault](str(error)) from None


def _named(text: str) -> str:
    """The same, if the core can have it: JSON may hold half of a surrogate pair."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise errors.InputError(f"{text!r} cannot name shared memory") from None
    return text
