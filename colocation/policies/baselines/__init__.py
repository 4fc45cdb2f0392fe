"""Policies that others are compared with."""
