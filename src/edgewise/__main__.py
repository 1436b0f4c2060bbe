"""`python -m edgewise`, and so `torchrun -m edgewise`: the command line."""

import sys

from edgewise.cli import main

if __name__ == "__main__":
    sys.exit(main())
