"""Searches small problems on which a policy does worst, for what it overlooks."""

from surplus.placement.adversary.search import SearchParams, WorstCase, worst_case

__all__ = ["SearchParams", "WorstCase", "worst_case"]
