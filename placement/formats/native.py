"""Our own format (docs/FORMATS.md), as ``Problem.to_json`` writes it."""

from __future__ import annotations

from surplus.placement.field_checks import ProblemError
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.problem import Problem


class Native:
    """It says all of the machine."""

    def recognises(self, file: ProblemText) -> bool:
        """By its field ``format``."""
        return file.has_field("format")

    def read(self, file: ProblemText, params: ReadParams) -> Problem:
        """As ``Problem.from_json``.

        Raises
        ------
        ProblemError
            Naming the field; also if processors are asked for, since the file says its own.
        """
        if params.processors is not None:
            raise ProblemError("devices: the file says its own, so no processors can be asked for")
        return Problem.from_json(file.text)
