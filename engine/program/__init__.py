"""A server within a program: ``surplus.Server``."""
