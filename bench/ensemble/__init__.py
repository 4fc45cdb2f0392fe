"""A photograph from JPEG to the class of what was found in it, as an ensemble."""
