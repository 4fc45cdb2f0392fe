"""What is served, on what, under which load: read from files."""
