"""gpulet (ATC'22)."""
