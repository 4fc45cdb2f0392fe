"""The neighbours' mixes on machines of more cores than ours: simulated."""
