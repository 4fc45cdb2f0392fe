"""The placement problem as a constraint program for OR-Tools CP-SAT."""
