"""The end of a process whose threads load models, and wait for nothing."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from surplus.engine.cli.progress import leave_terminal


def end_by(number: int) -> NoReturn:
    """End by a signal, under the feet of threads that cannot be stopped.

    The files that they write are moved into place whole.
    """
    leave_terminal()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)  # the first process of a container is not ended by a signal
