"""Interference models, one a file."""

from surplus.colocation.interference import contention as contention
from surplus.colocation.interference import measured as measured
from surplus.colocation.interference import none as none
from surplus.colocation.interference import pairwise as pairwise
from surplus.colocation.interference import pressure as pressure
