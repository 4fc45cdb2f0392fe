"""The extension point: a format of problem files is a class in a file of its own, named here."""

from __future__ import annotations

from typing import Protocol

from surplus.placement.formats.dnn_partitioning import DnnPartitioning
from surplus.placement.formats.native import Native
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.stg import Stg
from surplus.placement.formats.wfcommons import WfCommons
from surplus.placement.problem import Problem


class ProblemFormat(Protocol):
    """How to read one kind of file; without state."""

    def recognises(self, file: ProblemText) -> bool:
        """Whether a file looks like one of this kind, well-formed or not; never raises."""
        ...

    def read(self, file: ProblemText, params: ReadParams) -> Problem:
        """The problem of a file.

        Raises
        ------
        ProblemError
            Naming the line or the field that is wrong.
        """
        ...


FORMATS: dict[str, ProblemFormat] = {
    "surplus": Native(),
    "stg": Stg(),
    "dnn_partitioning": DnnPartitioning(),
    "wfcommons": WfCommons(),
}
"""By the name that ``--format`` takes; no two recognise the same file."""
