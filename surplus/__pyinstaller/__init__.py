"""The hook that PyInstaller finds by the entry point ``pyinstaller40``: a frozen program runs."""

from __future__ import annotations

from pathlib import Path


def get_hook_dirs() -> list[str]:
    """The folder of hooks, as PyInstaller asks for it."""
    return [str(Path(__file__).parent)]
