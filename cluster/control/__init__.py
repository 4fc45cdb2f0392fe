"""What asks planners again as rates change: estimates, sleep, autoscalers."""
