"""What is told of single queries to others: spans of OpenTelemetry, lines of the log."""
