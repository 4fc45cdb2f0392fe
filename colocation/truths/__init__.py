"""How long groups really take in a simulation; policies never see it."""
