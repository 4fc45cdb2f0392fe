"""Interference models, one a file."""

from colocation.interference import contention as contention
from colocation.interference import measured as measured
from colocation.interference import none as none
from colocation.interference import pairwise as pairwise
from colocation.interference import pressure as pressure
