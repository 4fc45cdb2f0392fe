"""The most queries a second: the least load of the busiest resource, with a proof."""
