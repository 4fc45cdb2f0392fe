"""Profiles, one a file."""

from colocation.profiles import abacus as abacus
from colocation.profiles import affine as affine
from colocation.profiles import analytic as analytic
from colocation.profiles import bandwidth as bandwidth
from colocation.profiles import layers as layers
from colocation.profiles import measured as measured
from colocation.profiles import table as table
