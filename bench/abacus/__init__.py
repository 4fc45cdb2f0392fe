"""Abacus (SC'21)."""
