"""Models with deadlines that share a machine with each other and with work that has none."""
