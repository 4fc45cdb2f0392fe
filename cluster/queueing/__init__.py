"""How many queries are late in a strip: upper bounds, for planners and for the simulator alike."""
