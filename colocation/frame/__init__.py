"""What drives every policy: queries, events, deployments, the controller, extension points."""
