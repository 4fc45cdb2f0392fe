"""Strict reading of files: every error says where it is."""
