"""Planners, one a file."""

from surplus.colocation.planners import cores as cores
from surplus.colocation.planners import dstack as dstack
from surplus.colocation.planners import gpulet as gpulet
from surplus.colocation.planners import gpulet_ideal as gpulet_ideal
from surplus.colocation.planners import greedy_best_fit as greedy_best_fit
from surplus.colocation.planners import knee_shares as knee_shares
from surplus.colocation.planners import nexus as nexus
from surplus.colocation.planners import squishy as squishy
from surplus.colocation.planners import whole as whole
