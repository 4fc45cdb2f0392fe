"""Dispatchers, one a file."""

from colocation.dispatchers import abacus as abacus
from colocation.dispatchers import clockwork as clockwork
from colocation.dispatchers import dstack as dstack
from colocation.dispatchers import duty_cycle as duty_cycle
from colocation.dispatchers import edf as edf
from colocation.dispatchers import fcfs as fcfs
from colocation.dispatchers import fixed_batch as fixed_batch
from colocation.dispatchers import layer_blocks as layer_blocks
from colocation.dispatchers import max_min as max_min
from colocation.dispatchers import max_throughput as max_throughput
from colocation.dispatchers import planaria as planaria
from colocation.dispatchers import prema as prema
from colocation.dispatchers import rounds as rounds
from colocation.dispatchers import sjf as sjf
from colocation.dispatchers import slices as slices
from colocation.dispatchers import temporal as temporal
