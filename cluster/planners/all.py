"""Every planner: importing them registers them."""

import surplus.cluster.planners.dstack
import surplus.cluster.planners.gpulet
import surplus.cluster.planners.per_model
import surplus.cluster.planners.squishy
import surplus.cluster.planners.surplus
