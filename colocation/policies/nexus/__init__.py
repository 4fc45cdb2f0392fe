"""Nexus (SOSP'19): squishy bin packing, duty cycles."""
