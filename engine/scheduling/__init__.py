"""Co-location live: groups of ``colocation`` computed by the core (docs/COLOCATION.md)."""
