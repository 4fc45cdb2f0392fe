"""What no policy can beat: an upper bound on the queries that are answered in time."""

from colocation.clairvoyant.bound import Bound as Bound
from colocation.clairvoyant.bound import clairvoyant_bound as clairvoyant_bound
from colocation.clairvoyant.bound import scenario_bound as scenario_bound
