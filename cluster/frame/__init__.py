"""What every planner of a cluster works on: nodes, models, demands, plans."""
