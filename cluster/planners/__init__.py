"""Planners of a cluster, one a file."""
