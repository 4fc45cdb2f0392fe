"""Who sends which query where: what clients of a cluster do, or a proxy for them."""
