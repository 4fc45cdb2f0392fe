"""The Python face of the core: models, queries in flight, timelines, plan selection."""
