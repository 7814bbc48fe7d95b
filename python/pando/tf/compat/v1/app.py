# SPDX-License-Identifier: Apache-2.0
"""tf.app: runs the main function of a script."""
from __future__ import annotations

import sys
from typing import Any


def run(main: Any = None, argv: Any = None) -> Any:
    """Calls main(argv) and ends the program."""
    main = main or sys.modules["__main__"].main
    sys.exit(main(argv or sys.argv))
