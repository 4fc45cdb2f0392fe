"""Reads a problem file of any format."""

from __future__ import annotations

from pathlib import Path

from surplus.placement.field_checks import ProblemError
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.registry import FORMATS, ProblemFormat
from surplus.placement.problem import Problem


def read_problem(
    path: Path, format_name: str | None = None, params: ReadParams | None = None
) -> Problem:
    """Read a problem from a file.

    Parameters
    ----------
    format_name : str, optional
        A key of ``FORMATS``; by default the file is looked at.

    Raises
    ------
    ProblemError
        Naming the file, and the line or field that is wrong.
    ValueError
        If the format is unknown, or the file is no text in UTF-8.
    OSError
        If the file cannot be read.
    """
    if format_name is not None and format_name not in FORMATS:
        raise ValueError(f"unknown format {format_name!r}; there are: {', '.join(FORMATS)}")
    try:
        file = ProblemText(path.read_text(encoding="utf-8-sig"), path.stem)
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path}: no text in utf-8: {error}") from error
    chosen = _looked_at(file) if format_name is None else FORMATS[format_name]
    try:
        return chosen.read(file, params or ReadParams())
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}") from error


def _looked_at(file: ProblemText) -> ProblemFormat:
    """The format that recognises the file; ours, which says what is wrong, if none does."""
    found = (one for one in FORMATS.values() if one.recognises(file))
    return next(found, FORMATS["surplus"])
