"""Dispatchers, one a file."""

from surplus.colocation.dispatchers import abacus as abacus
from surplus.colocation.dispatchers import clockwork as clockwork
from surplus.colocation.dispatchers import dstack as dstack
from surplus.colocation.dispatchers import duty_cycle as duty_cycle
from surplus.colocation.dispatchers import edf as edf
from surplus.colocation.dispatchers import fcfs as fcfs
from surplus.colocation.dispatchers import fixed_batch as fixed_batch
from surplus.colocation.dispatchers import layer_blocks as layer_blocks
from surplus.colocation.dispatchers import max_min as max_min
from surplus.colocation.dispatchers import max_throughput as max_throughput
from surplus.colocation.dispatchers import planaria as planaria
from surplus.colocation.dispatchers import prema as prema
from surplus.colocation.dispatchers import rounds as rounds
from surplus.colocation.dispatchers import sjf as sjf
from surplus.colocation.dispatchers import slices as slices
from surplus.colocation.dispatchers import temporal as temporal
