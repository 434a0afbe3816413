"""`python -m skyrank_command` runs the program `skyrank`."""

import sys

from . import main

sys.exit(main())
