"""Processes of arrivals, one a file."""

from surplus.colocation.arrivals import bursty as bursty
from surplus.colocation.arrivals import diurnal as diurnal
from surplus.colocation.arrivals import steady as steady
from surplus.colocation.arrivals import steps as steps
from surplus.colocation.arrivals import trace as trace
