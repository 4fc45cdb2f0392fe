"""A day of a cluster, window by window: traffic, what loads, what is in time, what it costs."""
