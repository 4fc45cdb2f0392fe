"""What a server measures of itself, as Prometheus reads it."""
