"""Keywords that ``InferenceSession`` takes beside ONNX Runtime's arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from surplus.engine.planning.load_options import LoadOptions
from surplus.engine.planning.progress import ProgressCallback


class SessionKeywords(LoadOptions, total=False):
    """``surplus.load``'s keywords, and three that ONNX Runtime reads without naming them."""

    placement_policy: str
    placement: str | os.PathLike[str] | None
    profile: str | os.PathLike[str] | None
    inputs: Mapping[str, Any] | None
    progress: ProgressCallback
    enable_fallback: int
    read_config_from_model: int
    disabled_optimizers: Sequence[str] | None
