"""Plans run in turns on example inputs, and their answers are compared."""
