"""Policies, a folder a paper; what several share stands beside the folders."""
