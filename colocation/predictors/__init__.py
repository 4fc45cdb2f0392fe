"""Predictors, one a file."""

from surplus.colocation.predictors import lanes as lanes
from surplus.colocation.predictors import layers as layers
from surplus.colocation.predictors import oracle as oracle
from surplus.colocation.predictors import overlap as overlap
from surplus.colocation.predictors import serial as serial
