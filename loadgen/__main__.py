"""``python -m surplus.loadgen``."""

import sys

from surplus.loadgen.cli import main

sys.exit(main())
