"""Profiles, one a file."""

from surplus.colocation.profiles import abacus as abacus
from surplus.colocation.profiles import affine as affine
from surplus.colocation.profiles import analytic as analytic
from surplus.colocation.profiles import bandwidth as bandwidth
from surplus.colocation.profiles import layers as layers
from surplus.colocation.profiles import measured as measured
from surplus.colocation.profiles import table as table
