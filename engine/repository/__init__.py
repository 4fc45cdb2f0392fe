"""What a repository of models says: how each is configured, which versions and files there are."""
