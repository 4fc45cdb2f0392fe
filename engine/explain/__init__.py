"""Where a query's time went: breakdown, critical path, lane use."""
