"""Plans of problems that are too large for one program, improved stretch by stretch."""
