"""The highest rate at which a latency target is met."""
