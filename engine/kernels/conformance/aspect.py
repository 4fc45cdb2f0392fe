"""What a library was seen to compute as ONNX says, by operator and types."""

from __future__ import annotations

from enum import StrEnum


class Aspect(StrEnum):
    """What of an operator held."""

    FINITE = "finite"
    """Finite answers to finite numbers, bounds and ties among them."""
    MADE = "made"
    """NaN and infinities that it makes of finite numbers."""
    SPECIAL = "special"
    """Its answers to NaN and infinities."""
    SIZES = "sizes"
    """Answers where a query says sizes, axes or places, and another one than the first."""


def types_text(first: str, output: str) -> str:
    """How a table names the types of an operator: of what it reads, and of what it makes."""
    return f"{first}->{output}"
