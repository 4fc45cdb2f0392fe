"""Who may do what with a server: asked before anything is done for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path

import grpc

from surplus.engine import _core
from surplus.engine.errors import ConfigError, ForbiddenError, UnauthenticatedError
from surplus.engine.serving.caller import Caller
from surplus.engine.serving.rights import Right
from surplus.engine.serving.tokens_file import Grant, read_tokens

_LOG = logging.getLogger(__name__)
_LOOK_S = 1.0
"""How soon a changed file is seen."""
_OK = grpc.StatusCode.OK.value[0]
_FORBIDDEN = grpc.StatusCode.PERMISSION_DENIED.value[0]

Stamp = tuple[int, int, int] | None


class Access:
    """Rules of one server; both faces ask it, and native front ends that it guards.

    Parameters
    ----------
    grants : collection of Grant
        Who may do more than anybody.
    open_rights : collection of Right
        What anybody may; all without tokens, if nothing else is said.

    Raises
    ------
    ConfigError
        If there are tokens, and no OpenSSL to know them by.
    """

    def __init__(
        self, grants: Collection[Grant] = (), open_rights: Collection[Right] = tuple(Right)
    ) -> None:
        self._open = _bits(open_rights)
        self._native = _native(grants, self._open)
        self._guarded: list[_core.Frontend] = []

    def renew(self, grants: Collection[Grant]) -> None:
        """Know these, and nobody else, from now on. Raises as the constructor does."""
        self._native = _native(grants, self._open)
        for front in self._guarded:
            front.set_access(self._native)

    def guard(self, front: _core.Frontend) -> None:
        """Have a front end ask the same, now and when it is renewed."""
        front.set_access(self._native)
        self._guarded.append(front)

    def check(self, caller: Caller, right: Right, model: str | None = None) -> None:
        """Return where somebody may.

        Parameters
        ----------
        model : str or None
            Which it is about, ``ALL_MODELS`` for all; None: none, or that is looked at later.

        Raises
        ------
        UnauthenticatedError
            If it is not known who asks.
        ForbiddenError
            If it is, and may not.
        """
        authorization = caller.authorization.encode("ascii", "replace").decode()
        names = [name.encode(errors="replace").decode() for name in caller.certificate_names]
        name = None if model is None else model.encode(errors="replace").decode()
        status, why = self._native.check(right.number, authorization, names, name)
        if status != _OK:
            raise (ForbiddenError if status == _FORBIDDEN else UnauthenticatedError)(why)


class TokensWatch:
    """Reads a file of tokens again when it changes. On the server's event loop.

    Parameters
    ----------
    access : Access
        What is renewed.
    """

    def __init__(self, path: str, access: Access) -> None:
        self._path = path
        self._access = access
        self._stamp = self._stamp_now()
        self._watch = asyncio.create_task(self._look_on())

    def close(self) -> None:
        """Look no more."""
        self._watch.cancel()

    def look(self) -> None:
        """Renew what has changed; what cannot be read leaves it as it was."""
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._access.renew(read_tokens(self._path))
        except ConfigError as error:
            _LOG.warning("the tokens stay as they were: %s", error)
            return
        _LOG.info("the tokens were read anew")

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self.look()

    def _stamp_now(self) -> Stamp:
        try:
            status = Path(self._path).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size


def _native(grants: Collection[Grant], open_bits: int) -> _core.Access:
    rows = [
        (one.name, one.digest, one.certificate, _bits(one.rights), one.models, one.ends_unix_s)
        for one in grants
    ]
    try:
        return _core.Access(list(Right), open_bits, rows)
    except RuntimeError as error:
        raise ConfigError(f"tokens are known by OpenSSL: {error}") from None


def _bits(rights: Collection[Right]) -> int:
    return sum(1 << right.number for right in set(rights))
