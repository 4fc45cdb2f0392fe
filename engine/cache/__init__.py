"""The user's cache: private folders and files, and proof that a file is what was written."""
