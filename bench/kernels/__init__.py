"""Whose kernels are fastest: contenders in processes of their own."""
