"""What was being done with a model's devices when one of them was lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine.errors import DeviceLostError, EngineError, one_line
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import has_lost


@contextmanager
def during(params: LoadParams, what: str) -> Iterator[None]:
    """Tell a loss from other errors.

    Parameters
    ----------
    what : str
        As in "the device is lost, while plans were compared".

    Raises
    ------
    DeviceLostError
        In the place of any error, if a device was lost.
    """
    try:
        yield
    except DeviceLostError:
        raise
    except EngineError as error:
        if not has_lost(params):
            raise
        raise DeviceLostError(f"{one_line(error)}, while {what}") from error
