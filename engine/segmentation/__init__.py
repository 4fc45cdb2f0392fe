"""From a placement to segments: clusters, packing, widths, the executable plan."""
