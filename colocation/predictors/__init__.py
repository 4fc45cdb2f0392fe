"""Predictors, one a file."""

from colocation.predictors import lanes as lanes
from colocation.predictors import layers as layers
from colocation.predictors import oracle as oracle
from colocation.predictors import overlap as overlap
from colocation.predictors import serial as serial
