"""gpulets: planning with shares of devices and duty cycles in them, for several planners."""
