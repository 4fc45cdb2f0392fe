"""Predictors, one a file."""

from colocation.predictors import serial as serial
