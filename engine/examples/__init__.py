"""Example inputs: given, read, or made up such that the model takes them."""
