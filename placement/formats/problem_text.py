"""A problem file that was read but not understood yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class ProblemText:
    """Text of a file.

    Parameters
    ----------
    name : str
        What the problem is called if the text does not say: the file's stem.
    """

    text: str
    name: str

    @cached_property
    def raw(self) -> Any:
        """What the text is as JSON; None if it is none, or says ``null``."""
        import msgspec

        try:
            return msgspec.json.decode(self.text)
        except (ValueError, RecursionError):
            return None

    def has_field(self, name: str) -> bool:
        """Whether it is a JSON object with this field."""
        return isinstance(self.raw, dict) and name in self.raw
