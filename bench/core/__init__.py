"""The core alone: dispatch, hand-overs, overlap, values."""
