"""What no policy can beat: an upper bound on the queries that are answered in time."""

from surplus.colocation.clairvoyant.bound import Bound as Bound
from surplus.colocation.clairvoyant.bound import clairvoyant_bound as clairvoyant_bound
from surplus.colocation.clairvoyant.bound import scenario_bound as scenario_bound
