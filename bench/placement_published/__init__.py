"""Published instances beside their published optima: standard task graphs, profiled networks."""
