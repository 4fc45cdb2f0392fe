"""Threads that answer ``run_async``."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from surplus.engine.dropin.statuses import OrtStatusError

_log = logging.getLogger(__name__)

_THREADS = 32
"""Most queries of ``run_async`` at once; they wait for the engine and compute little themselves."""


@functools.cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="run_async")


os.register_at_fork(after_in_child=_executor.cache_clear)  # its threads stayed in the parent


def call_back(answer: Callable[[], list[Any]], callback: Any, user_data: Any) -> None:
    """Call ``answer`` in another thread, then ``callback`` with its result, data and error."""
    _executor().submit(_answer, answer, callback, user_data)


def _answer(answer: Callable[[], list[Any]], callback: Any, user_data: Any) -> None:
    result: list[Any] = []
    text = ""
    try:
        result = answer()
    except Exception as error:  # the callback's to judge
        text = _bare(error)
    try:
        callback(result, user_data, text)
    except Exception:
        _log.exception("the callback of run_async failed")


def _bare(error: Exception) -> str:
    """Without ONNX Runtime's heading, as it calls back; never empty."""
    text = error.bare if isinstance(error, OrtStatusError) else str(error)
    return text or type(error).__name__
