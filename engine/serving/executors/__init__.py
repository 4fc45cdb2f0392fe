"""What stands behind a served model: a loaded model, one loaded late, a service of a policy."""
