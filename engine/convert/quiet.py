"""Silence for a library that prints, warns and logs, in Python and below."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout

_DESCRIPTORS = (1, 2)


@contextmanager
def quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Keep stdout, stderr and the log empty; yields the warnings that are held back."""
    before = logging.root.manager.disable
    with ExitStack() as stack:
        stack.callback(logging.disable, before)
        stack.enter_context(_descriptors_closed())
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(redirect_stderr(io.StringIO()))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        logging.disable(logging.ERROR)
        yield caught


@contextmanager
def _descriptors_closed() -> Iterator[None]:
    """C++ writes to the descriptors themselves."""
    kept = [os.dup(number) for number in _DESCRIPTORS]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in _DESCRIPTORS:
            os.dup2(nothing, number)
        yield
    finally:
        for number, copy in zip(_DESCRIPTORS, kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nothing)
