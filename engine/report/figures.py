"""What the pictures of this package have in common; matplotlib is loaded only by it."""

from __future__ import annotations

import io
from typing import Any

from surplus.engine.errors import ConfigError


def check_matplotlib(what: str) -> None:
    """Check that there is what draws pictures.

    Raises
    ------
    ConfigError
        If matplotlib is not installed: ``what`` needs it.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"{what} needs matplotlib: pip install 'surplus-engine[plots]'"
        ) from error


def new_figure(width_inches: float, height_inches: float) -> Any:
    """A ``matplotlib.figure.Figure`` that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_inches, height_inches), dpi=150, layout="constrained")


def drawn(figure: Any, kind: str) -> bytes:
    """The figure as ``png`` or ``svg``; equal figures give equal bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    unsaid = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "surplus", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=kind, metadata=unsaid)
    return buffer.getvalue()


def plain(text: str) -> str:
    """Text as it is: matplotlib reads dollars as mathematics."""
    return text.replace("$", r"\$")
