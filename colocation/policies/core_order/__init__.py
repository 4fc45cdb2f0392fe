"""The order of the engine's core, once more: its twin for simulations."""
