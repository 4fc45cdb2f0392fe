"""Profiles, one a file."""

from colocation.profiles import affine as affine
