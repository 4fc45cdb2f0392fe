"""Random numbers: the same whoever asks first, and how they scatter."""
