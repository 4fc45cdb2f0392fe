"""Queries that belong together, of models whose configuration has ``sequence_batching``."""
