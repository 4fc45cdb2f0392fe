"""The scale of the program."""

MODEL_SPAN = 1000.0
"""The upper bound in model units; keeps every coefficient and Big-M within 1e3."""
