"""Co-location: many models under latency targets, on shared devices.

``simulate`` runs a policy on a virtual clock; ``docs/COLOCATION.md`` draws the frame. Importing
the package fills its registries.
"""

from colocation import arrivals as arrivals
from colocation import dispatchers as dispatchers
from colocation import interference as interference
from colocation import planners as planners
from colocation import predictors as predictors
from colocation import profiles as profiles
from colocation.comparison import Compared as Compared
from colocation.comparison import compare as compare
from colocation.controller import PolicyError as PolicyError
from colocation.metrics import Summary as Summary
from colocation.metrics import Tally as Tally
from colocation.metrics import summarise as summarise
from colocation.policies import PolicySpec as PolicySpec
from colocation.policies import policy_names as policy_names
from colocation.policies import policy_spec as policy_spec
from colocation.scenario import Scenario as Scenario
from colocation.scenario_file import read_scenario as read_scenario
from colocation.simulator import Run as Run
from colocation.simulator import Setting as Setting
from colocation.simulator import simulate as simulate
from colocation.validate import check_run as check_run
from colocation.validate import validate_run as validate_run
