"""A node's network of its own, which can be cut off from ours, one way or both.

It is a network namespace at the other end of a virtual cable. A direction is cut by a wrong address
on the frames of that direction, which the other end passes over: nobody is told, as with a switch
that has failed, and connections stand until somebody misses an answer.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Self

_NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of sched.h."""
_BLOCKS = 1 << 15
"""Of four addresses each in 198.18.0.0/15, which is for tests of networks (RFC 2544)."""
_A_PROCESS = 8
_OURS, _THEIRS, _NOBODY = "02:53:00:00:00:01", "02:53:00:00:00:02", "02:53:00:00:00:ff"
_LIBC = ctypes.CDLL(None, use_errno=True)


class OwnNetwork:
    """One of eight that a process may have.

    Parameters
    ----------
    number : int
        Which, 0 to 7.

    Attributes
    ----------
    address : str
        Of a server there, as clients here reach it.

    Raises
    ------
    OSError
        If it is not allowed, or the system cannot.
    """

    def __init__(self, number: int) -> None:
        if not 0 <= number < _A_PROCESS:
            raise ValueError(f"number must be 0 to {_A_PROCESS - 1}, got {number}")
        block = (os.getpid() * _A_PROCESS + number) % _BLOCKS
        first = f"198.{18 + block // (1 << 14)}.{block // 64 % 256}.{block % 64 * 4}"
        base, _, last = first.rpartition(".")
        self._here, self.address = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"
        self._cable, self._far_end = f"sur{block}a", f"sur{block}b"
        self._fd = _made()
        try:
            self._connect()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> str:
        """Of the namespace, for ``nsenter --net``."""
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def enter(self) -> None:
        """Have the calling thread, and threads and processes that it starts, be there."""
        if _LIBC.setns(self._fd, _NEW_NETWORK) != 0:
            raise _last_error("setns")

    def cut(self, *, there: bool = True, back: bool = True) -> None:
        """Let nothing through to it, from it, or either way."""
        self._point_here(_NOBODY if there else _THEIRS)
        self._point_there(_NOBODY if back else _OURS)

    def heal(self) -> None:
        """Let all through again."""
        self.cut(there=False, back=False)

    def close(self) -> None:
        """Take the cable away; the namespace ends with the last process that is in it."""
        subprocess.run(["ip", "link", "del", self._cable], capture_output=True, check=False)
        os.close(self._fd)

    def _connect(self) -> None:
        far = f"peer name {self._far_end} address {_THEIRS} netns {self.path}"
        _ip(f"link add {self._cable} address {_OURS} type veth {far}")
        _ip(f"addr add {self._here}/30 dev {self._cable}")
        _ip(f"link set {self._cable} up")
        self._ip_there("link set lo up")
        self._ip_there(f"addr add {self.address}/30 dev {self._far_end}")
        self._ip_there(f"link set {self._far_end} up")
        self.heal()

    def _point_here(self, to: str) -> None:
        _ip(f"neigh replace {self.address} lladdr {to} dev {self._cable} nud permanent")

    def _point_there(self, to: str) -> None:
        self._ip_there(f"neigh replace {self._here} lladdr {to} dev {self._far_end} nud permanent")

    def _ip_there(self, words: str) -> None:
        _run(["nsenter", f"--net={self.path}", "ip", *words.split()])


def why_not() -> str:
    """Why there can be no networks of their own here; empty if there can."""
    if missing := [tool for tool in ("ip", "nsenter") if shutil.which(tool) is None]:
        return f"{missing[0]} is not here"
    try:
        with OwnNetwork(_A_PROCESS - 1):
            return ""
    except OSError as error:
        return f"networks of their own: {error}"


def _made() -> int:
    """The descriptor of a new namespace: of a thread that goes there, and ends."""
    found: list[int | OSError] = []

    def go() -> None:
        if _LIBC.unshare(_NEW_NETWORK) != 0:
            found.append(_last_error("unshare"))
        else:
            found.append(os.open(Path("/proc/thread-self/ns/net"), os.O_RDONLY))

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    (one,) = found
    if isinstance(one, OSError):
        raise one
    return one


def _last_error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _ip(words: str) -> None:
    _run(["ip", *words.split()])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
