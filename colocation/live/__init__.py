"""The same policies on a real clock."""
