"""Foresight: the ways of serving that there are, tried on imagined loads; the best one serves."""

from surplus.colocation.foresight import policy as policy
