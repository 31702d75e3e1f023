"""python -m gridbuf doctor | plan | demo"""

import sys

from gridbuf.cli import main

sys.exit(main())
