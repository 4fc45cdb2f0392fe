"""A model's plan judged again while it serves, within a bounded share of its queries' time."""
