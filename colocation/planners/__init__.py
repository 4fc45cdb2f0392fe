"""Planners, one a file."""

from colocation.planners import nexus as nexus
from colocation.planners import whole as whole
