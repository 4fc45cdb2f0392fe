"""torch, if it is installed: the one place that imports it."""

from __future__ import annotations

import importlib
from typing import Any

from surplus.engine.errors import ConversionError, one_line

INSTALL_HINT = "pip install 'surplus-engine[convert]'"


def load_torch() -> Any:
    """The module ``torch``.

    Raises
    ------
    ConversionError
        If it is not installed, or does not load; says how to install it.
    """
    try:
        torch = importlib.import_module("torch")
        importlib.import_module("torch.onnx")
    except ModuleNotFoundError as error:
        raise ConversionError(
            f"this needs torch ({error.name} is not installed): {INSTALL_HINT}"
        ) from error
    except (ImportError, OSError) as error:
        text = f"torch does not load: {one_line(error)}; {INSTALL_HINT}"
        raise ConversionError(text) from error
    return torch
