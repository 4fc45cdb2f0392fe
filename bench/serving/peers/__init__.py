"""Servers of others: programs for an environment of their own, which ``make peers`` builds.

They are run by their files' names, so that nothing of ours is imported there.
"""
