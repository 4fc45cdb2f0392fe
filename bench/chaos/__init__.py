"""A deployment whose servers, nodes and network fail while it is asked."""
