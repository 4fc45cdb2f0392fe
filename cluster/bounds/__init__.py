"""What no planner can do without."""
