"""Processes of arrivals, one a file; ``ARRIVALS`` knows them by name."""

from surplus.loadgen.arrivals.bursty import BurstyArrivals as BurstyArrivals
from surplus.loadgen.arrivals.diurnal import DiurnalArrivals as DiurnalArrivals
from surplus.loadgen.arrivals.poisson import PoissonArrivals as PoissonArrivals
from surplus.loadgen.arrivals.poisson import poisson as poisson
from surplus.loadgen.arrivals.process import ARRIVALS as ARRIVALS
from surplus.loadgen.arrivals.process import ArrivalProcess as ArrivalProcess
from surplus.loadgen.arrivals.process import Arrivals as Arrivals
from surplus.loadgen.arrivals.trace import TraceArrivals as TraceArrivals
from surplus.loadgen.arrivals.uniform import UniformArrivals as UniformArrivals
from surplus.loadgen.arrivals.uniform import uniform as uniform
