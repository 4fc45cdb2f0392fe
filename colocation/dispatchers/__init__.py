"""Dispatchers, one a file."""

from colocation.dispatchers import fcfs as fcfs
