"""Measurements: one script per table, results as JSON, tables rendered from them."""
