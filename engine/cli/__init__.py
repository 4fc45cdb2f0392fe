"""Command line: one verb a file."""
