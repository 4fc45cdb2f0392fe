"""Families of made-up problems, each of any number of tasks and from a seed; a family a file."""

from surplus.placement.families.family import Family
from surplus.placement.families.registry import FAMILIES, family_problem

__all__ = ["FAMILIES", "Family", "family_problem"]
