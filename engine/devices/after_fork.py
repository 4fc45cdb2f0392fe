"""What a forked child finds: models and machines whose threads stayed behind in the parent.

Closing them would wait for these threads for ever, so they are never destroyed, and a query of such
a model says what happened.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, NoReturn

from surplus.engine.errors import LeftBehindError

_SUBJECTS: weakref.WeakSet[Any] = weakref.WeakSet()


class LeftBehind:
    """In the place of a model's guard: recovery is due at each query, and there is none."""

    is_due = True

    def recover(self, *_: object) -> NoReturn:
        """Refuse the query.

        Raises
        ------
        LeftBehindError
        """
        raise LeftBehindError(
            "this process was forked after the model was loaded, and its devices' threads stayed"
            " behind: load models after the fork, or start processes by spawn"
        )


def watch(subject: Any) -> None:
    """Call its ``leave_behind`` in each forked child, and in theirs; never destroy it there."""
    _SUBJECTS.add(subject)


def leave_for_ever(subject: Any) -> None:
    """Never destroy it, which would wait for threads that do not end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(subject))


def _in_child() -> None:
    for subject in tuple(_SUBJECTS):
        leave_for_ever(subject)
        subject.leave_behind()


os.register_at_fork(after_in_child=_in_child)
