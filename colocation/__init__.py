"""Co-location: many models under latency targets, on shared devices.

``simulate`` runs a policy on a virtual clock; ``docs/COLOCATION.md`` draws the frame. Importing
the package fills its registries.
"""

from surplus.colocation import arrivals as arrivals
from surplus.colocation import dispatchers as dispatchers
from surplus.colocation import interference as interference
from surplus.colocation import planners as planners
from surplus.colocation import predictors as predictors
from surplus.colocation import profiles as profiles
from surplus.colocation.comparison import Compared as Compared
from surplus.colocation.comparison import compare as compare
from surplus.colocation.controller import PolicyError as PolicyError
from surplus.colocation.metrics import Summary as Summary
from surplus.colocation.metrics import Tally as Tally
from surplus.colocation.metrics import summarise as summarise
from surplus.colocation.policies import PolicySpec as PolicySpec
from surplus.colocation.policies import policy_names as policy_names
from surplus.colocation.policies import policy_spec as policy_spec
from surplus.colocation.scenario import Scenario as Scenario
from surplus.colocation.scenario_file import read_scenario as read_scenario
from surplus.colocation.simulator import Run as Run
from surplus.colocation.simulator import Setting as Setting
from surplus.colocation.simulator import simulate as simulate
from surplus.colocation.validate import check_run as check_run
from surplus.colocation.validate import validate_run as validate_run
