"""Servers side by side, asked by the same native client."""
