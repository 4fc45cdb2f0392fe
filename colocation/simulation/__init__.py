"""Runs a policy on a virtual clock, against a truth that it does not see."""
