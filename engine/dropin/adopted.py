"""How an adopted program's models are loaded: what ``engine adopt`` was told."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from surplus.engine.errors import ConfigError

VARIABLE = "SURPLUS_ADOPTED"
"""Environment variable: options of ``surplus.load`` as a JSON object. Set where the ``onnxruntime``
module is to be ours."""


def adopted_options(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Options of ``surplus.load``; none where the program was not adopted.

    Raises
    ------
    ConfigError
        If the variable does not hold a JSON object.
    """
    text = (os.environ if environment is None else environment).get(VARIABLE, "")
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ConfigError(f"{VARIABLE} must be a JSON object of load's options, got {text!r}")
    return options
