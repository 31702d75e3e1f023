"""python -m gridbuf doctor | plan | demo | run"""

import sys

from gridbuf.cli import main

sys.exit(main())
