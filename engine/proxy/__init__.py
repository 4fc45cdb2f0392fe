"""``engine route``: a server whose models are on other servers."""
