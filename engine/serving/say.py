"""What a server tells whoever looks after it."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line on standard error."""
    print(" ".join(text.split()), file=sys.stderr, flush=True)
