"""A file for each part of the check; ``measure`` measures one model."""
