"""The environment in which a program and its children are adopted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.dropin.adopted import VARIABLE
from surplus.engine.planning.load_params import LoadParams

_STARTUP = Path(__file__).parent / "startup"
"""Holds the ``sitecustomize`` that each Python runs when it starts."""


def environment(before: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, str]:
    """Variables for a program whose ``onnxruntime`` is to be ours.

    Parameters
    ----------
    before : mapping of str to str
        The variables as they are.
    options : mapping
        How its models are loaded: ``surplus.load``'s options, of JSON's types.

    Raises
    ------
    ConfigError, DeviceError
        If an option is wrong.
    """
    LoadParams(**options).specs()
    paths = [str(_STARTUP), *filter(None, before.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **before,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        VARIABLE: json.dumps(dict(options)),
    }
