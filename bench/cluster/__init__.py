"""Clusters, simulated: node hours of planners and autoscalers."""
