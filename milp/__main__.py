"""``python -m surplus.milp``."""

import sys

from surplus.milp.cli import main

if __name__ == "__main__":
    sys.exit(main())
