"""Whether this process shares the machine's cores with the user's others, and where they meet.

The broker is a table in shared memory (engine/core/broker). A process joins it before it opens its
first devices; one that may not says so once, and goes on without.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from surplus.engine import _core

BROKER_VARIABLE = "SURPLUS_BROKER"
"""Environment variable that names the table's file, for containers that share a folder, or says
``off``: this process then counts for nobody, and nobody for it."""

_OFF = ("off", "0", "no")
_FILE = "broker.v1"
_SHARED_MEMORY = Path("/dev/shm")

_log = logging.getLogger(__name__)


class _Refusal:
    """What was said already, in which process."""

    text = ""
    process = 0


_REFUSAL = _Refusal()
_LOCK = threading.Lock()


def broker_path(environment: Mapping[str, str] | None = None) -> Path | None:
    """The table's file; None where this process is not to take part.

    It lies in shared memory, whatever started the process: a service and a login of one user have
    different run-time folders, and that of a login is only taken where there is no shared memory.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(BROKER_VARIABLE, "")
    if named.lower() in _OFF:
        return None
    if named:
        return Path(named)
    if _SHARED_MEMORY.is_dir():
        return _SHARED_MEMORY / f"surplus-{os.geteuid()}" / _FILE
    folder = variables.get("XDG_RUNTIME_DIR", "")
    return Path(folder) / "surplus" / _FILE if Path(folder).is_absolute() else None


def share_cores() -> bool:
    """Take part, if this process may and is to; whether it does.

    What is wrong with the file is logged once as a warning: another version, damage, another owner.
    """
    path = broker_path()
    if path is None:
        return False
    with _LOCK:
        try:
            _core.join_broker(str(path), _own_name())
        except (RuntimeError, OSError) as error:
            _warn(str(error))
        return _core.has_joined_broker()


def _warn(text: str) -> None:
    if (text, os.getpid()) == (_REFUSAL.text, _REFUSAL.process):
        return
    _REFUSAL.text, _REFUSAL.process = text, os.getpid()
    _log.warning("this process shares its cores with others without a plan: %s", text)


def _own_name() -> str:
    """What others are shown: the program's or module's name."""
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    if name == "__main__.py":
        name = Path(sys.argv[0]).parent.name
    return name or Path(sys.executable).name
