"""Fits latency models of operator groups to measured samples; needs numpy alone."""
