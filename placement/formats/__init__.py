"""Problems as files: ours, and those that others publish; each format is one file."""

from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.reading import read_problem
from surplus.placement.formats.registry import FORMATS, ProblemFormat

__all__ = ["FORMATS", "ProblemFormat", "ProblemText", "ReadParams", "read_problem"]
