"""Work that is due, in overload: what is answered in time, refused, and done in vain."""
