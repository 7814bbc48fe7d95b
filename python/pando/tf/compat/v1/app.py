# SPDX-License-Identifier: Apache-2.0
"""tf.app: runs the main function of a script."""
import sys


def run(main=None, argv=None):
    """Calls main(argv) and ends the program."""
    main = main or sys.modules["__main__"].main
    sys.exit(main(argv or sys.argv))
