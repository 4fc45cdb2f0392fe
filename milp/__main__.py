"""``python -m milp``."""

import sys

from milp.cli import main

if __name__ == "__main__":
    sys.exit(main())
