"""Policies of all papers side by side, simulated and live."""
