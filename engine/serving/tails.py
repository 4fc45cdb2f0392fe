"""What models are asked and why queries came late, as both faces say it (tails.proto)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from surplus.engine.errors import ConfigError, InputError
from surplus.engine.explain.top import document_of
from surplus.engine.report.late import late_document, late_trace
from surplus.engine.runtime import flight_log
from surplus.engine.serving.metrics.policy_sample import PolicySample

Document = dict[str, Any]

TOP_WINDOW_S = 10.0
LATE_WINDOW_S = 60.0


async def top(window_s: float = 0.0, policies: Sequence[PolicySample] = ()) -> Document:
    """What the machines of this process did over the last seconds, 0 is 10; how policies do.

    Raises
    ------
    InputError
        If the window is out of range.
    """
    found = await _away(lambda: document_of(flight_log.top(window_s or TOP_WINDOW_S)))
    return {**found, "policies": [one._asdict() for one in policies]}


async def late(model: str = "", window_s: float = 0.0, *, perfetto: bool = False) -> Document:
    """Why queries came late; of all models without a name, over the last 60 s for 0.

    Raises
    ------
    InputError
        If the window is out of range.
    UnknownModelError
        If no model is called so.
    """
    form = late_trace if perfetto else late_document
    return await _away(lambda: form(flight_log.late(model, window_s or LATE_WINDOW_S)))


async def asked_late(query: Mapping[str, str]) -> Document:
    """As ``late``, of the parameters of a URL: ``model``, ``window_s``, ``format``."""
    form = query.get("format", "json")
    if form not in ("json", "perfetto"):
        raise InputError(f"format must be json or perfetto, got {form!r}")
    return await late(query.get("model", ""), window_of(query), perfetto=form == "perfetto")


def window_of(query: Mapping[str, str]) -> float:
    """``window_s`` of a URL; 0 where it has none.

    Raises
    ------
    InputError
        If it is no number above 0.
    """
    text = query.get("window_s")
    if text is None:
        return 0.0
    try:
        window_s = float(text)
    except ValueError:
        window_s = 0.0
    if not window_s > 0:
        raise InputError(f"window_s must be a number above 0, got {text!r}")
    return window_s


async def _away(make: Any) -> Document:
    """In a thread: queries go on meanwhile."""
    try:
        document: Document = await asyncio.to_thread(make)
    except ConfigError as error:
        raise InputError(str(error)) from error
    return document
