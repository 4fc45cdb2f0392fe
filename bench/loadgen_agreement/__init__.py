"""Loadgen's figures beside those of load generators that people know."""
