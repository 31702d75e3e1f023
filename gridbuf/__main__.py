"""`python -m gridbuf`: the commands of cli.py."""

import sys

from gridbuf.cli import main

sys.exit(main())
