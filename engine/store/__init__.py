"""Segments and prepacked weights on disk."""
