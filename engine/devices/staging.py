"""How much pinned memory a GPU's copies have."""

STAGING_BYTES = 64 << 20
"""What the core takes for copies of a GPU."""
