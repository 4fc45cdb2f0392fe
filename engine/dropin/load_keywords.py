"""Keywords of a session that are ``surplus.load``'s; ONNX Runtime ignores what it does not know."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from surplus.engine.planning.load_options import OLD_NAMES, OPTIONS

_log = logging.getLogger(__name__)

_OF_ONNX_RUNTIME = ("read_config_from_model",)
_ALIKE = 0.8
"""As ``tune`` and ``tunes``, of difflib's 0 to 1."""


def load_keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those that ``surplus.load`` has; others are not read, which the log says.

    Options of a policy go with one that is named.
    """
    known = (*OPTIONS, *OLD_NAMES)
    if "policy" in given or "placement_policy" in given:
        return {name: value for name, value in given.items() if name not in _OF_ONNX_RUNTIME}
    for name in given:
        if name not in (*known, *_OF_ONNX_RUNTIME):
            _say_unknown(name, known)
    return {name: value for name, value in given.items() if name in known}


def _say_unknown(name: str, known: tuple[str, ...]) -> None:
    if close := get_close_matches(name, known, 1, _ALIKE):
        _log.warning("InferenceSession does not read %s; did you mean %s?", name, close[0])
    else:
        _log.debug("InferenceSession does not read %s", name)
