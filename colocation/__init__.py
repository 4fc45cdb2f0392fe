"""Co-location: many models under latency targets, on shared devices.

``simulate`` runs a policy on a virtual clock; ``docs/COLOCATION.md`` draws the frame. Importing
the package fills its registries.
"""

from surplus.colocation import arrivals as arrivals
from surplus.colocation import foresight as foresight
from surplus.colocation import interference as interference
from surplus.colocation import predictors as predictors
from surplus.colocation import profiles as profiles
from surplus.colocation.frame.controller import PolicyError as PolicyError
from surplus.colocation.policies import all as all
from surplus.colocation.policies.names import PolicySpec as PolicySpec
from surplus.colocation.policies.names import policy_names as policy_names
from surplus.colocation.policies.names import policy_spec as policy_spec
from surplus.colocation.results.comparison import Compared as Compared
from surplus.colocation.results.comparison import compare as compare
from surplus.colocation.results.metrics import RunSummary as RunSummary
from surplus.colocation.results.metrics import Tally as Tally
from surplus.colocation.results.metrics import summarise as summarise
from surplus.colocation.results.validate import check_run as check_run
from surplus.colocation.results.validate import validate_run as validate_run
from surplus.colocation.scenarios.scenario import Scenario as Scenario
from surplus.colocation.scenarios.scenario_file import read_scenario as read_scenario
from surplus.colocation.simulation.simulator import Run as Run
from surplus.colocation.simulation.simulator import Setting as Setting
from surplus.colocation.simulation.simulator import simulate as simulate
