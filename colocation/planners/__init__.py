"""Planners, one a file."""

from colocation.planners import cores as cores
from colocation.planners import dstack as dstack
from colocation.planners import gpulet as gpulet
from colocation.planners import gpulet_ideal as gpulet_ideal
from colocation.planners import greedy_best_fit as greedy_best_fit
from colocation.planners import knee_shares as knee_shares
from colocation.planners import nexus as nexus
from colocation.planners import squishy as squishy
from colocation.planners import whole as whole
