"""Processes of arrivals, one a file."""

from colocation.arrivals import bursty as bursty
from colocation.arrivals import diurnal as diurnal
from colocation.arrivals import steady as steady
from colocation.arrivals import steps as steps
from colocation.arrivals import trace as trace
