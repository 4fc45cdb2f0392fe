"""Where queries can go, one a file; ``TARGETS`` knows them by name."""

from surplus.loadgen.targets.grpc import GrpcTarget as GrpcTarget
from surplus.loadgen.targets.http import HttpTarget as HttpTarget
from surplus.loadgen.targets.in_process import InProcessTarget as InProcessTarget
from surplus.loadgen.targets.target import TARGETS as TARGETS
from surplus.loadgen.targets.target import Target as Target
from surplus.loadgen.targets.target import target_of as target_of
