"""Columns and prices: what runs next is what brings most for the share and time that it holds."""
