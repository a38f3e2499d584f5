"""`python -m local.demo`."""

import sys

from local.demo.story import main

if __name__ == "__main__":
    sys.exit(main())
