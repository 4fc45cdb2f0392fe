"""Every dispatcher and planner, one a file: importing them registers them."""

import surplus.colocation.policies.abacus.dispatcher
import surplus.colocation.policies.baselines.clockwork
import surplus.colocation.policies.baselines.edf
import surplus.colocation.policies.baselines.fcfs
import surplus.colocation.policies.baselines.fixed_batch
import surplus.colocation.policies.baselines.rounds
import surplus.colocation.policies.baselines.sjf
import surplus.colocation.policies.baselines.slices
import surplus.colocation.policies.baselines.temporal
import surplus.colocation.policies.baselines.whole
import surplus.colocation.policies.core_order.dispatcher
import surplus.colocation.policies.dstack.dispatcher
import surplus.colocation.policies.dstack.knee_shares
import surplus.colocation.policies.dstack.max_min
import surplus.colocation.policies.dstack.max_throughput
import surplus.colocation.policies.dstack.planner
import surplus.colocation.policies.gpulet.greedy_best_fit
import surplus.colocation.policies.gpulet.ideal
import surplus.colocation.policies.gpulet.planner
import surplus.colocation.policies.gpulet.squishy
import surplus.colocation.policies.nexus.duty_cycle
import surplus.colocation.policies.nexus.planner
import surplus.colocation.policies.veltair.dispatcher
import surplus.colocation.policies.veltair.planaria
import surplus.colocation.policies.veltair.planner
import surplus.colocation.policies.veltair.prema
