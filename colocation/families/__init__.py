"""Families of made-up scenarios, one a file; loads as parts of what anybody could hold."""
