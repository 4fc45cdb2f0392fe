"""Planners, one a file."""

from colocation.planners import whole as whole
