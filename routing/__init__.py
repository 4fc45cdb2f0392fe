"""Routing: which replica of a model answers a query, and clients that ask it."""
